package index

import (
	"math"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
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

// allowed returns the documents that pass the filter; nil means all.
func (f filter) allowed(view *scorch.IndexSnapshot) (*roaring.Bitmap, error) {
	if len(f.kinds)+len(f.tags) == 0 && f.path == "" && f.since == math.MinInt64 && f.until == math.MaxInt64 {
		return nil, nil
	}
	all := roaring.New()
	offset := uint64(0)
	for _, s := range view.Segments() {
		t := traitReader{segment: s.Segment(), field: fieldTraits, deleted: s.Deleted()}
		left := t.allowed(f)
		if t.err != nil {
			return nil, t.err
		}
		for it := left.Iterator(); it.HasNext(); {
			all.Add(uint32(offset) + it.Next())
		}
		offset += s.Segment().Count()
	}
	return all, nil
}

// allowed returns the documents of a segment that pass a filter that is not empty.
func (t *traitReader) allowed(f filter) *roaring.Bitmap {
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
		narrow(t.between(f.scopes, f.since, f.until))
	}
	return left
}

// A traitReader reads the terms of a field of one segment, and the documents that have them. It
// keeps the first error. It reads the segment in the goroutine of its caller: Bleve's readers of
// dictionaries start goroutines, and a fault on a damaged file there would end the process.
type traitReader struct {
	segment segment.Segment
	field   string
	deleted *roaring.Bitmap
	err     error

	dictionary segment.TermDictionary // of the field, after open
}

// open opens the dictionary, and reports whether there was no error so far.
func (t *traitReader) open() bool {
	if t.err == nil && t.dictionary == nil {
		t.dictionary, t.err = t.segment.Dictionary(t.field)
	}
	return t.err == nil
}

// add adds the documents that have one term to a set.
func (t *traitReader) add(to *roaring.Bitmap, term []byte) {
	if !t.open() {
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
func (t *traitReader) between(scopes []scopeKey, since, until int64) *roaring.Bitmap {
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
		r, err := recordOf(t.segment, uint64(number))
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
	if !t.open() {
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

// live reports whether any document that has the term is not deleted.
func (t *traitReader) live(term []byte) bool {
	if !t.open() {
		return false
	}
	list, err := t.dictionary.PostingsList(term, t.deleted, nil)
	if err != nil {
		t.err = err
		return false
	}
	return list.Count() > 0
}
