// Package ledger has the words in which the audit log and the store speak of
// the rows that the one keeps in the other: chains, records, and the heads that
// say how far chains have come.
//
// It knows what the columns are. It does not know how lines are sealed, which is
// the audit log's business, nor how rows are written, which is the store's.
// Begin with Chain.
package ledger

import "errors"

// A Chain is the record of one process since one start.
type Chain struct {
	ID    int64  // sorts by the time of its start
	Key   string // names the key that seals it
	Line  string // how it begins: a sealed line
	Seq   int64  // of its last record
	Hash  string // of the line of that record
	Seen  int64  // about when it was last added to, in milliseconds by the store's clock
	Ended bool   // its process has ended it
}

// A Record is a line of a chain, and the columns by which it is found.
type Record struct {
	Chain, Seq int64
	At         int64  // when it was written, in microseconds by the writer's clock
	Who        int64  // stands for a tool and whom it was called for; 0 where nobody will ask
	What       string // the digest of the arguments, where who is not 0
	Line       string
}

// Place is where a record stands in the order of time.
func (r Record) Place() Place { return Place{r.At, r.Chain, r.Seq} }

// A Place is one in the order of time, in which records of all chains are read.
type Place struct{ At, Chain, Seq int64 }

// A Head is a line that says of chains how far they have come. Those of a key
// are a chain themselves, which all processes that have the key write to.
type Head struct {
	Key    string
	Number int64
	Line   string
}

// A Seal makes the lines that come after the last head of a key, which is zero
// when there is none. It is called while nobody else adds heads of that key.
type Seal func(last Head, chains bool) ([]Head, error)

// ErrMoved is why nothing was added to a chain: it is not as it was left.
var ErrMoved = errors.New("the chain is not as it was left")
