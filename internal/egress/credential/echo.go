package credential

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net/url"
	"strings"
)

// Within reports whether a content has the secret in it, as it is or in an
// encoding that programs write headers in. It reads the content to its end, or
// to the first place.
func (a attachment) Within(content io.Reader) (bool, error) {
	secret, err := a.Fetch()
	if err != nil {
		return false, a.unreadable(err)
	}
	_, _, values := a.written(secret)
	var forms [][]byte
	longest := 0
	for _, form := range formsOf(values) {
		forms = append(forms, []byte(form))
		longest = max(longest, len(form))
	}
	buf := make([]byte, max(1<<20, 4*longest))
	kept := 0 // of what came before: a secret may begin there
	for {
		n, err := io.ReadFull(content, buf[kept:])
		for _, form := range forms {
			if bytes.Contains(buf[:kept+n], form) {
				return true, nil
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		kept = copy(buf, buf[len(buf)-longest:])
	}
}

// formsOf are the ways in which values are written.
func formsOf(values []string) (forms []string) {
	for _, v := range values {
		code := hex.EncodeToString([]byte(v))
		forms = append(forms, v, url.QueryEscape(v), url.PathEscape(v), code, strings.ToUpper(code))
		for before := range 3 { // of what stands before it: so many bytes more than whole groups
			text := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), v...))
			text = text[[]int{0, 2, 3}[before]:]
			if (before+len(v))%3 != 0 {
				text = text[:len(text)-1] // has a part of what follows
			}
			forms = append(forms, text, strings.NewReplacer("+", "-", "/", "_").Replace(text))
		}
	}
	return forms
}
