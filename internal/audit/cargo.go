package audit

import (
	"context"
	"errors"
	"fmt"
)

// maxBatch records are written in one transaction, so that nobody else waits
// for long to write.
const maxBatch = 256

// A chain_ is a chain on its way from a journal to the store. What is in the
// journal and not yet in the store, or not known to be, is handed to carry.
type upload struct {
	rows   rowStore
	key    key
	chain  chainRow // as far as it is known to be in the store
	bytes  int64    // of all its records up to there
	begun  bool     // the store has it
	synced bool     // the store has no more of it than we know
}

// point is how far the store has the chain.
func (c *upload) point() point {
	return point{Chain: chainName(c.chain.ID), Key: c.chain.Key, Seq: uint64(c.chain.Seq), Mark: c.chain.Hash, Bytes: c.bytes}
}

// errNotAsExpected is why nothing was added although the chain was as it should be a
// moment ago: a write that was given up came through after all, or somebody
// else was there. A look tells.
var errNotAsExpected = errors.New("the chain was added to meanwhile")

// upload_ brings some of the records that follow what the store has, and says how
// many of them it has afterwards. Records are numbered without a gap. When it is
// not known how a write ended, it asks the store first.
func (c *upload) next(ctx context.Context, list []recordRow, seen int64) (n int, err error) {
	for range 3 {
		var more int
		more, err = c.tryNext(ctx, list[n:], seen)
		if n += more; !errors.Is(err, errNotAsExpected) {
			break
		}
	}
	return n, err
}

func (c *upload) tryNext(ctx context.Context, list []recordRow, seen int64) (n int, err error) {
	if !c.synced {
		if n, err = c.sync(ctx, list); err != nil {
			return n, err
		}
	}
	batch := list[n:min(len(list), n+maxBatch)]
	if len(batch) == 0 {
		return n, nil
	}
	c.synced = false
	if !c.begun {
		if err := c.begin(ctx); err != nil {
			return n, fmt.Errorf("beginning a chain: %w", err)
		}
	}
	last := batch[len(batch)-1]
	to := c.chain
	to.Seq, to.Hash = last.Seq, linkOf([]byte(last.Line)).String()
	if ago := seen - to.Seen; ago < 0 || ago >= seenEvery.Milliseconds() { // clocks are set back
		to.Seen = seen
	}
	switch err := c.rows.Append(ctx, c.chain, to, batch); {
	case errors.Is(err, errMoved):
		return n, errNotAsExpected
	case err != nil:
		return n, err
	}
	c.synced = true
	c.chain.Seen = to.Seen
	c.advance(batch)
	return n + len(batch), nil
}

// begin adds the chain to the store, and to the heads.
func (c *upload) begin(ctx context.Context) error {
	err := c.rows.Begin(ctx, c.chain, sealHeads(c.key, head{Kind: headReached, Chains: []point{c.point()}}))
	c.begun = err == nil
	return err
}

// end notes in the heads that the chain ends where the store has it.
func (c *upload) end(ctx context.Context) error {
	at := c.point()
	at.End = true
	return c.rows.Note(ctx, c.key.id(), c.chain.ID, sealHeads(c.key, head{Kind: headReached, Chains: []point{at}}))
}

// advance takes down that the store has some records more.
func (c *upload) advance(list []recordRow) {
	for _, r := range list {
		c.bytes += int64(len(r.Line))
	}
	if n := len(list); n > 0 {
		c.chain.Seq, c.chain.Hash = list[n-1].Seq, linkOf([]byte(list[n-1].Line)).String()
	}
}

// observe finds out how many of the records the store has. A chain that is none of
// what it was meant to become was changed by somebody else, and is not added to
// until it is as it was: whoever can remove records would get a clean record for
// it.
func (c *upload) sync(ctx context.Context, list []recordRow) (n int, err error) {
	got, found, err := c.rows.Chain(ctx, c.chain.ID)
	switch {
	case err != nil:
	case found:
		n, err = c.advanceTo(list, got.Seq, got.Hash)
	default:
		n, err = c.resumePruned(ctx, list)
	}
	if err != nil {
		return 0, err
	}
	c.begun, c.synced = found, true
	return n, nil
}

// advanceTo advances to where the chain is elsewhere, if that is one of the records.
func (c *upload) advanceTo(list []recordRow, seq int64, hash string) (n int, err error) {
	ahead := seq - c.chain.Seq
	if ahead < 0 || ahead > int64(len(list)) {
		return 0, chainMoved(c.chain.ID)
	}
	link := c.chain.Hash
	if ahead > 0 {
		link = linkOf([]byte(list[ahead-1].Line)).String()
	}
	if link != hash {
		return 0, chainMoved(c.chain.ID)
	}
	c.advance(list[:ahead])
	return int(ahead), nil
}

// resumePruned is for a chain that the store does not have. Retention may have removed
// it, as it does where nobody was seen adding to it for days; the heads say so
// then, and it is begun again where it was cut off. Otherwise it has to be one
// that was not begun before.
func (c *upload) resumePruned(ctx context.Context, list []recordRow) (n int, err error) {
	book, err := readHeads(ctx, c.rows, c.key.id(), newSealer(c.key), func(int64, Kind, string) {})
	if err != nil {
		return 0, err
	}
	if at := book.pruned[chainName(c.chain.ID)]; at.End {
		return c.advanceTo(list, int64(at.Seq), at.Mark)
	}
	if c.begun {
		return 0, chainMoved(c.chain.ID)
	}
	return 0, nil
}

// contains says whether the store has a record of the chain, or had it until retention
// removed it.
func (c *upload) contains(ctx context.Context, r recordRow) (bool, error) {
	list, err := c.rows.Records(ctx, r.Chain, r.Seq-1, 1)
	if err != nil || len(list) > 0 && list[0].Line == r.Line {
		return err == nil, err
	}
	book, err := readHeads(ctx, c.rows, c.key.id(), newSealer(c.key), func(int64, Kind, string) {})
	return book.pruned[chainName(r.Chain)].Seq >= uint64(r.Seq), err
}

func chainMoved(id int64) error {
	return fmt.Errorf("%w: the chain %s was removed or changed in the store; put it back, or start again", errMoved, chainName(id))
}
