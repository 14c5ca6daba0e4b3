import d, { a as b, c } from "./x";
import * as ns from 'y';
import "side";
export { q } from "./z";
const { r } = require("r");

/** Adds. */
export function add(x) { return ns.sum(x, b()); }
export default class Bucket extends Base {
  static limit = 3;
  #secret = 1;
  /** Refills. */
  async refill(by) { await this.check(by); return new Other(by); }
  get size() { return 1; }
  handler = () => { go(); };
}
const arrow = async (x) => x.map(add);
const LIMIT = 3, other = function () {};
module.exports.run = function () { return <App x={1}><b/></App>; };
Foo.prototype.bar = () => 1;
const routes = { list(x) { return x; }, one: function () { two(); } };
