package llm

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

var errTooMuch = errors.New("the response of the provider is larger than the limit")

// bounded reads at most left bytes, and calls progress whenever it receives some.
type bounded struct {
	r        io.Reader
	left     int
	progress func()
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooMuch
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	if n > 0 {
		b.left -= n
		b.progress()
	}
	return n, err
}

// events calls f with the data of each server-sent event in r.
func events(r io.Reader, f func(data []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxReply)
	var data []byte
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) == 0 && data != nil {
			if err := f(data); err != nil {
				return err
			}
			data = nil
			continue
		}
		if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, bytes.TrimPrefix(rest, []byte(" "))...)
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	if data != nil {
		return f(data)
	}
	return nil
}
