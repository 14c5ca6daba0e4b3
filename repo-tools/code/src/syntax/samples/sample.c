#include <stdio.h>
#include "x/y.h"
#define LIMIT 3
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* A bucket. */
struct bucket {
    int tokens;
    struct other *next;
};
typedef struct { int x; } point_t, *point_p;
typedef unsigned long word;
enum kind { ONE, TWO = 2 };
union both { int a; };
static const char *names[] = { "a" };
int counter;
extern int refill(struct bucket *b, int by);

/*
 * Refills.
 */
static inline struct bucket *
refill_all(struct bucket *b, word by)
{
    b->ops->check(by);
    return MAX(helper(b), 1) ? run(b) : (struct bucket *)0;
}
