package scrub

import (
	"bytes"
	"encoding/json"
)

// Value is v with the secrets of its strings hidden, and whole strings under
// keys such as password. Keys stay, unless one is itself a secret. Maps and
// lists are copied, never written to. Of types other than those of decoded
// JSON the JSON form is scrubbed; what has none becomes nil.
func (s *Scrubber) Value(v any) any { return s.program().value("", "", v) }

// value scrubs what stands under a key, of which a neighbour may have said
// something.
func (p *program) value(key, said string, v any) any {
	switch v := v.(type) {
	case nil, bool, float64, float32, int, int64, int32, uint, uint64, uint32, json.Number:
		return v
	case string:
		return p.under(key, said, v)
	case map[string]any:
		return p.object(v)
	case []any:
		return p.list(key, v)
	case json.RawMessage:
		return p.raw(v)
	}
	return p.other(key, v)
}

func (p *program) object(m map[string]any) map[string]any {
	if m == nil {
		return nil
	}
	var said sibling
	for key, v := range m {
		if name, ok := v.(string); ok {
			said.hear(key, name, true)
		}
	}
	out := make(map[string]any, len(m))
	for key, v := range m {
		out[p.text(key)] = p.value(key, said.about(key, true), v)
	}
	return out
}

func (p *program) list(key string, l []any) []any {
	if l == nil {
		return nil
	}
	var said sibling
	out := make([]any, len(l))
	for i, v := range l {
		out[i] = p.value(key, said.about(key, false), v)
		if word, ok := v.(string); ok {
			said.hear(key, word, false)
		}
	}
	return out
}

// raw scrubs a document; what should be one and is not becomes a string.
func (p *program) raw(doc json.RawMessage) json.RawMessage {
	if out, ok := p.document(doc); ok {
		return out
	}
	code, err := json.Marshal(p.text(string(doc)))
	if err != nil {
		return json.RawMessage("null")
	}
	return code
}

// other scrubs a value by way of its JSON.
func (p *program) other(key string, v any) any {
	code, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var plain any
	d := json.NewDecoder(bytes.NewReader(code))
	d.UseNumber()
	if d.Decode(&plain) != nil {
		return nil
	}
	return p.value(key, "", plain)
}
