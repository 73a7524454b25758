package llm

import (
	"bufio"
	"bytes"
	"io"
)

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
