<?php
namespace A\B;
use X\Y\Helper;
use X\{One, Two as Deux};
use function X\run;
require_once __DIR__ . '/inc.php';
require 'other.php';
const LIMIT = 3;
define('OTHER', 4);

/**
 * A bucket.
 */
#[Attr]
abstract class Bucket extends Base implements Named, Other
{
    use Mixin;
    private const MAX = 3;
    protected ?int $tokens = 0;
    public function __construct(private Helper $h) {}
    /** Refills. */
    public static function refill(int $by): ?Result
    {
        $this->check($by);
        self::more(new Other($by));
        Helper::run($by);
        return run($by);
    }
    abstract function area(): float;
}
interface Named { function go(); }
trait Mixin { function mixed() {} }
enum Kind: string { case One = 'a'; }
function free_function($x) { return fn($y) => $y; }
