import type { A } from "./a";
import x = require("x");
/** A shape. */
@Component({})
export abstract class Shape<T extends A> extends Base<T> implements Named, Other {
  private readonly limit: number = 3;
  constructor(private a: A) { super(a); }
  abstract area(): number;
  @Input() name?: string;
  /** Twice. */
  public twice(by: Map<string, A>): Promise<void> { return this.area<number>(); }
}
export interface Named { name: string; greet(x: A): void; }
export type Alias = A | null;
export enum Kind { One, Two = 2 }
namespace Space { export function inside() {} }
declare module "m" { function f(): void; }
declare function outer(a: A): void;
export const fn = (a: A): A => a as A;
function over(a: string): void;
function over(a: any) {}
