package a.b;
import java.util.List;
import static java.util.Map.entry;
import a.c.*;

/** A bucket. */
@Deprecated
public class Bucket<T> extends Base<T> implements Named, Other {
    private static final int LIMIT = 3, MORE = 4;
    public Bucket(int x) { super(x); }
    /** Refills. */
    @Override
    public List<String> refill(int by) throws Error {
        this.check(by);
        Helper.run(new Other(by));
        return list.stream().map(Bucket::id).toList();
    }
    enum Kind { ONE, TWO { void x() {} } }
    interface Inner { void go(); }
    record Point(int x, int y) { }
    @interface Mark { int value(); }
}
