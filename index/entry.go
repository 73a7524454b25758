package index

import api "github.com/blevesearch/bleve_index_api"

// entry is a record in the form in which Scorch takes it. The terms are there
// already, so nothing is left for Scorch to analyse.
type entry struct {
	id     string
	fields []api.Field
}

func (e *entry) ID() string { return e.id }

func (e *entry) Size() int { return len(e.id) }

func (e *entry) VisitFields(visit api.FieldVisitor) {
	for _, f := range e.fields {
		visit(f)
	}
}

func (e *entry) VisitComposite(api.CompositeFieldVisitor) {}

func (e *entry) HasComposite() bool { return false }

func (e *entry) NumPlainTextBytes() uint64 { return 0 }

func (e *entry) StoredFieldsBytes() uint64 { return 0 }

func (e *entry) Indexed() bool { return true }

// AddIDField adds the field by which Scorch finds an entry to replace it.
func (e *entry) AddIDField() {
	id := []byte(e.id)
	e.fields = append(e.fields, &field{
		name:    "_id",
		options: api.IndexField | api.StoreField,
		length:  1,
		value:   id,
		terms:   api.TokenFrequencies{e.id: once(id)},
	})
}

func once(term []byte) *api.TokenFreq {
	freq := &api.TokenFreq{Term: term}
	freq.SetFrequency(1)
	return freq
}

// field is one field of an entry.
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
