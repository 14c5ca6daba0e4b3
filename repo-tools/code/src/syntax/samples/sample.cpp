#include <vector>
using namespace std;
using std::string;
namespace a::b {
// A bucket.
template <typename T>
class Bucket : public Base<T>, private Other {
public:
    explicit Bucket(int x) : x_(x) {}
    ~Bucket();
    /// Refills.
    virtual int refill(int by) const override { return check(by); }
    static void decl(const string& s);
    bool operator==(const Bucket& o) const;
    enum class Kind { One, Two };
private:
    int x_ = 0;
};
using Alias = Bucket<int>;
template <> int Bucket<int>::more(int by) { auto p = std::make_unique<Widget>(by); p->go(); return Other::run(new Thing(by)); }
Bucket::~Bucket() {}
concept C = true;
int free_function(int x) { return [&](int y) { return y; }(x); }
}
struct Plain { int a; };
extern "C" { int c_fun(void); }
