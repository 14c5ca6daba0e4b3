// Package x.
package x

import (
	"fmt"
	alias "net/http"
)

// Limit is.
const Limit = 3

var (
	one, two int
)

// Bucket is.
type Bucket struct {
	tokens int
	Base
}

type Shape interface {
	Area() float64
	Named
}

type (
	Alias = Bucket
	Func  func(int) error
)

// Refill refills.
func (b *Bucket) Refill(by int) (*Alias, error) {
	b.check(by)
	fmt.Println(by)
	return &Alias{tokens: by}, nil
}

func Run[T any](x T) { go helper(x); defer func() { inner() }() }
