import React, { useState } from "react";

interface Props { title: string; }

// A card.
export const Card: React.FC<Props> = ({ title }) => {
  const [open, setOpen] = useState<boolean>(false);
  return <Panel.Body onClick={() => setOpen(!open)}><Title text={title} /></Panel.Body>;
};

export default function Page(props: Props): JSX.Element {
  return <div><Card title={props.title} /></div>;
}
