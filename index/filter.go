package index

import (
	"math"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// A filter narrows a search beyond its scopes.
type filter struct {
	scopes       []scopeKey
	kinds        []string
	tags         []string
	path         string
	since, until int64
}

func newFilter(q Query, scopes map[scopeKey]counts) filter {
	f := filter{kinds: q.Kinds, path: q.PathPrefix, since: q.Since, until: q.Until}
	for key := range scopes {
		f.scopes = append(f.scopes, key)
	}
	for _, tag := range q.Tags {
		f.tags = append(f.tags, lower(tag))
	}
	return f
}

// allowed returns the documents of a segment that pass the filter; nil means all.
func (f filter) allowed(p *part) (*roaring.Bitmap, error) {
	dictionary, err := p.file.Dictionary(fieldTraits)
	if err != nil {
		return nil, err
	}
	t := traitReader{dictionary: dictionary, deleted: p.deleted}
	var left *roaring.Bitmap
	narrow := func(to *roaring.Bitmap) {
		if left == nil {
			left = to
		} else {
			left.And(to)
		}
	}
	if len(f.kinds) > 0 {
		narrow(t.matching(f.scopes, traitKind, f.kinds...))
	}
	for _, tag := range f.tags {
		narrow(t.matching(f.scopes, traitTag, tag))
	}
	if f.path != "" {
		narrow(t.withPrefix(f.scopes, f.path))
	}
	if f.since != math.MinInt64 || f.until != math.MaxInt64 {
		narrow(t.between(p, f.scopes, f.since, f.until))
	}
	return left, t.err
}

// A traitReader collects the documents that have a trait. It keeps the first
// error.
type traitReader struct {
	dictionary segment.TermDictionary
	deleted    *roaring.Bitmap
	err        error
}

// add adds the documents that have one term to a set.
func (t *traitReader) add(to *roaring.Bitmap, term []byte) {
	if t.err != nil {
		return
	}
	list, err := t.dictionary.PostingsList(term, t.deleted, nil)
	if err != nil {
		t.err = err
		return
	}
	it := list.Iterator(false, false, false, nil)
	for {
		posting, err := it.Next()
		if err != nil || posting == nil {
			t.err = err
			return
		}
		to.Add(uint32(posting.Number()))
	}
}

func (t *traitReader) matching(scopes []scopeKey, kind byte, texts ...string) *roaring.Bitmap {
	set := roaring.New()
	for _, scope := range scopes {
		for _, text := range texts {
			t.add(set, scope.term(kind, text))
		}
	}
	return set
}

func (t *traitReader) withPrefix(scopes []scopeKey, prefix string) *roaring.Bitmap {
	set := roaring.New()
	for _, scope := range scopes {
		from := scope.term(traitPath, prefix)
		for _, term := range t.terms(from, prefixEnd(from)) {
			t.add(set, term)
		}
	}
	return set
}

// prefixEnd returns the smallest term after all terms that begin with prefix.
func prefixEnd(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for len(end) > 0 {
		if last := len(end) - 1; end[last] < 0xff {
			end[last]++
			return end
		}
		end = end[:len(end)-1]
	}
	return nil
}

// between adds the documents of whole days, and checks the time of each document
// of the first and the last day.
func (t *traitReader) between(p *part, scopes []scopeKey, since, until int64) *roaring.Bitmap {
	set, ends := roaring.New(), roaring.New()
	if since >= until {
		return set
	}
	first, last := day(since), day(until-1)
	for _, scope := range scopes {
		from, to := scope.term(traitDay, first), scope.term(traitDay, last)
		for _, term := range t.terms(from, append(to, 0)) {
			at := string(term[len(scope)+1:])
			if at == first || at == last {
				t.add(ends, term)
			} else {
				t.add(set, term)
			}
		}
	}
	for it := ends.Iterator(); it.HasNext() && t.err == nil; {
		number := it.Next()
		r, err := storedRecord(p, uint64(number))
		if err != nil {
			t.err = err
		} else if since <= r.time && r.time < until {
			set.Add(number)
		}
	}
	return set
}

// terms returns the terms from from up to to.
func (t *traitReader) terms(from, to []byte) [][]byte {
	if t.err != nil {
		return nil
	}
	it := t.dictionary.AutomatonIterator(nil, from, to)
	var all [][]byte
	for {
		found, err := it.Next()
		if err != nil || found == nil {
			t.err = err
			return all
		}
		all = append(all, []byte(strings.Clone(found.Term)))
	}
}
