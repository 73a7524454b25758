package fs

import (
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/scrub"
)

// The server scrubs all results, and recognizes secrets by their form. This file hides parts of secrets that no longer
// have that form in the way they would be shown, and refuses changes that would show a secret.

// checkBytes refuses to return bytes in base64 if they contain or touch a secret: the server could not recognize the
// secret in that form.
func (r *reader) checkBytes(from int64, data []byte) error {
	to := from + int64(len(data))
	start := max(from-scrub.LongestKey, 0)
	around, err := readUpTo(r.content, start, min(to+scrub.LongestKey, r.file.Size)-start)
	if err != nil {
		return err
	}
	plain := string(around)
	_, n := r.secrets.Count(plain)
	if n == 0 && strings.ContainsRune(plain, 0) { // it may be UTF-16
		_, n = r.secrets.Count(strings.ReplaceAll(plain, "\x00", ""))
	}
	if n == 0 {
		return nil
	}
	return tool.Errorf(tool.Refused,
		"bytes %d to %d of %s contain or touch what looks like a secret, which base64 would show",
		from, to, r.file.Name).
		Try("read the file as text, in which secrets are masked, or read bytes further away")
}

// checkChange refuses a change that would write a mask in place of a secret, or show a secret
// that is masked now. typed is the text of the caller.
func checkChange(secrets *scrub.Scrubber, before, after, typed string) error {
	if err := secrets.CheckNoMask(before, after); err != nil {
		return tool.Errorf(tool.Invalid, "%w", err)
	}
	if err := secrets.CheckShown(before, after, typed); err != nil {
		return tool.Errorf(tool.Refused, "%w", err).
			Try("leave the secret under its present name, or ask the user to make this change")
	}
	return nil
}
