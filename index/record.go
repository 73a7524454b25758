package index

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	api "github.com/blevesearch/bleve_index_api"
)

// The fields of a record: its words, what searches are narrowed by, and what
// has to be known to count it out again.
const (
	fieldWords  = "w"
	fieldTraits = "t"
	fieldRecord = "r"
)

// The kinds of traits, each the first byte after the scope.
const (
	traitAny  = 'a' // every document
	traitKind = 'k'
	traitTag  = 'g'
	traitPath = 'p'
	traitDay  = 'd'
)

// How much more a word says in a title than in a body. A document that has only
// a body is ranked by BM25 as it is written in books.
const (
	weightTitle    = 3
	weightHeadings = 2
	weightTags     = 2
	weightBody     = 1
)

// record is a document as the index keeps it.
type record struct {
	id     string
	scope  scopeKey
	lang   string
	length int // in terms, those of the title counted as often as they weigh
	time   int64
	fields []api.Field
}

// record makes a document into what is kept of it.
func (a *analyzer) record(d Document) record {
	r := record{id: d.ID, scope: keyOf(d.Scope), lang: d.Lang, time: d.Time}
	if r.lang == "" {
		r.lang = Language(d.Title + "\n" + d.Headings + "\n" + cut(d.Body, mostText))
	}
	r.lang = cut(r.lang, 8)
	words := terms{}
	count := func(text string, weight int) {
		a.tokens(text, r.lang, func(t Token) {
			words.add(r.scope.term(traitAny, t.Term), weight)
			r.length += weight
		})
	}
	count(d.Title, weightTitle)
	count(d.Headings, weightHeadings)
	count(d.Body, weightBody)
	for _, tag := range d.Tags {
		count(tag, weightTags)
	}
	r.fields = []api.Field{
		&field{name: fieldWords, options: api.IndexField, length: r.length, terms: words.all()},
		&field{name: fieldTraits, options: api.IndexField | api.SkipFreqNorm, terms: traits(r.scope, d).all()},
		&field{name: fieldRecord, options: api.StoreField, value: r.bytes()},
	}
	return r
}

func traits(scope scopeKey, d Document) terms {
	t := terms{}
	t.add(scope.term(traitAny, ""), 0)
	t.add(scope.term(traitKind, d.Kind), 0)
	t.add(scope.term(traitPath, d.Path), 0)
	t.add(scope.term(traitDay, day(d.Time)), 0)
	for _, tag := range d.Tags {
		t.add(scope.term(traitTag, lower(tag)), 0)
	}
	return t
}

// day is the day of a time, in bytes that sort as days do.
func day(ms int64) string {
	const perDay = int64(24 * time.Hour / time.Millisecond)
	n := ms / perDay
	if ms%perDay < 0 {
		n--
	}
	return string(binary.BigEndian.AppendUint64(nil, uint64(n)^1<<63))
}

func (r record) bytes() []byte {
	b := slices.Clone(r.scope[:])
	b = binary.AppendUvarint(b, uint64(r.length))
	b = binary.AppendVarint(b, r.time)
	return append(b, r.lang...)
}

var errRecord = errors.New("a record of the index cannot be read")

// readRecord is the inverse of bytes.
func readRecord(b []byte) (r record, err error) {
	if len(b) < len(r.scope) {
		return r, errRecord
	}
	n := copy(r.scope[:], b)
	length, size := binary.Uvarint(b[n:])
	if size <= 0 {
		return r, errRecord
	}
	n += size
	r.length = int(length)
	if r.time, size = binary.Varint(b[n:]); size <= 0 {
		return r, errRecord
	}
	r.lang = string(b[n+size:])
	return r, nil
}

// terms counts the terms of one document.
type terms map[string]*api.TokenFreq

func (t terms) add(term []byte, times int) {
	freq := t[string(term)]
	if freq == nil {
		freq = &api.TokenFreq{Term: term}
		t[string(term)] = freq
	}
	freq.SetFrequency(freq.Frequency() + times)
}

func (t terms) all() api.TokenFrequencies { return api.TokenFrequencies(t) }
