package index

import (
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/blevesearch/bleve/v2/document"
	api "github.com/blevesearch/bleve_index_api"
)

// The fields of a record: its words, the traits that searches are narrowed by,
// and the data to subtract it from the counts when it is deleted.
const (
	fieldWords  = "w"
	fieldTraits = "t"
	fieldRecord = "r"
)

// The kinds of traits, the first byte after the scope.
const (
	traitAny  = 'a' // every document
	traitKind = 'k'
	traitTag  = 'g'
	traitPath = 'p'
	traitDay  = 'd'
)

// The weight of a word in each part of a document. A document that has only a
// body is ranked by plain BM25.
const (
	weightTitle    = 3
	weightHeadings = 2
	weightTags     = 2
	weightBody     = 1
)

// A record is the indexed form of a document.
type record struct {
	id     string
	scope  scopeKey
	lang   string
	length int // in terms, multiplied by the weights
	time   int64
	fields []*field
}

// record makes the record of a document.
func (a *analyzer) record(d Document) record {
	r := record{id: d.ID, scope: keyOf(d.Scope), time: d.Time}
	words := terms{}
	r.lang, r.length = a.count(d, func(term string, weight int) {
		words.add(r.scope.term(traitAny, term), weight)
	})
	r.fields = []*field{
		{name: fieldWords, options: api.IndexField, length: r.length, terms: words.all()},
		{name: fieldTraits, options: api.IndexField | api.SkipFreqNorm, terms: traits(r.scope, d).all()},
		{name: fieldRecord, options: api.StoreField, value: r.bytes()},
	}
	return r
}

// count calls add with each term of a document and its weight, and returns the
// language of the document and its length.
func (a *analyzer) count(d Document, add func(term string, weight int)) (lang string, length int) {
	lang = d.Lang
	if lang == "" {
		lang = Language(d.Title + "\n" + d.Headings + "\n" + cut(d.Body, maxText))
	}
	lang = cut(lang, 8)
	count := func(text string, weight int) {
		a.tokens(text, lang, func(t Token) {
			add(t.Term, weight)
			length += weight
		})
	}
	count(d.Title, weightTitle)
	count(d.Headings, weightHeadings)
	count(d.Body, weightBody)
	for _, tag := range d.Tags {
		count(tag, weightTags)
	}
	return lang, length
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

// day returns the day of a time as bytes that sort like days.
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

// readRecord decodes the output of bytes.
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

// document returns the record in the form that Bleve takes.
func (r record) document() *document.Document {
	d := document.NewDocument(r.id)
	for _, f := range r.fields {
		d.AddField(f)
	}
	return d
}

// A field is one field of a document. Its terms are already analyzed.
type field struct {
	name    string
	options api.FieldIndexingOptions
	length  int
	value   []byte
	terms   api.TokenFrequencies
}

func (f *field) Name() string { return f.name }

func (f *field) Value() []byte { return f.value }

func (f *field) ArrayPositions() []uint64 { return nil }

func (f *field) EncodedFieldType() byte { return 't' }

func (f *field) Analyze() {}

func (f *field) Options() api.FieldIndexingOptions { return f.options }

func (f *field) AnalyzedLength() int { return f.length }

func (f *field) AnalyzedTokenFrequencies() api.TokenFrequencies { return f.terms }

func (f *field) NumPlainTextBytes() uint64 { return 0 }

func (f *field) Size() int { return len(f.name) + len(f.value) }
