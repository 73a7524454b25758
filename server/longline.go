package server

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// A longLine is a line that is too long, with what was kept of it.
type longLine struct{ head, tail []byte }

func (*longLine) Error() string { return "the line is too long" }

// What is kept of a line that is too long: enough to find its id.
const (
	keptHead = 4 << 10
	keptTail = 512
)

// lastOf is the end of a line, on its own.
func lastOf(line []byte) []byte { return bytes.Clone(line[max(0, len(line)-keptTail):]) }

// id finds the id of the request that the line was, so that its client does
// not wait for ever: before the first value that is not whole, or at the very
// end, as clients write it that begin with the method. It is nil when neither
// has it.
func (l *longLine) id() jsontext.Value {
	d := jsontext.NewDecoder(bytes.NewReader(l.head))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil
	}
	for {
		name, err := d.ReadToken()
		if err != nil || name.Kind() != '"' {
			break
		}
		is := name.String() == "id"
		value, err := d.ReadValue()
		if err != nil {
			break
		}
		if is {
			return scalar(value.Clone())
		}
	}
	return l.idAtEnd()
}

// idAtEnd reads a last member called id. It is one of the message itself: what
// belongs to params ends with two braces.
func (l *longLine) idAtEnd() jsontext.Value {
	tail, ok := bytes.CutSuffix(trim(l.tail), []byte("}"))
	i := bytes.LastIndex(tail, []byte(`"id"`))
	if !ok || i < 0 {
		return nil
	}
	before := bytes.TrimRight(tail[:i], " \t")
	value, ok := bytes.CutPrefix(bytes.TrimLeft(tail[i+len(`"id"`):], " \t"), []byte(":"))
	if !ok || !bytes.HasSuffix(before, []byte(",")) {
		return nil
	}
	return scalar(bytes.TrimSpace(value))
}

// scalar returns v when it is a whole string or number.
func scalar(v jsontext.Value) jsontext.Value {
	if !v.IsValid() || v.Kind() != '"' && v.Kind() != '0' {
		return nil
	}
	return v
}
