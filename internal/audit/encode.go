package audit

import (
	"math"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	maxText    = 4 << 10 // bytes of one text; more is cut
	timeFormat = "2006-01-02T15:04:05.000000Z"
)

// appendRow begins a line: everything but the links of the chain.
func appendRow(b []byte, seq uint64, now time.Time, fields []byte) []byte {
	b = append(b, `{"seq":`...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, `,"ts":"`...)
	b = now.AppendFormat(b, timeFormat)
	b = append(b, '"')
	return append(b, fields...)
}

// appendFields writes the fields of r as `,"name":value` each. encoding/json
// takes three times as long, and lets terminal controls through.
func appendFields(b []byte, r *Record) []byte {
	b = appendText(b, "phase", string(r.Phase))
	b = appendText(b, "call", r.Call)
	b = appendText(b, "parent", r.Parent)
	b = appendText(b, "kind", r.Kind)
	b = appendText(b, "tool", r.Tool)
	b = appendText(b, "alias", r.Alias)
	b = appendText(b, "agent", r.Agent)
	b = appendText(b, "user", r.User)
	b = appendText(b, "session", r.Session)
	b = appendText(b, "transport", r.Transport)
	b = appendText(b, "profile", r.Profile)
	b = appendText(b, "risk", r.Risk)
	b = appendText(b, "verdict", r.Verdict)
	b = appendText(b, "approval", r.Approval)
	b = appendText(b, "outcome", r.Outcome)
	b = appendText(b, "args_digest", r.ArgsDigest)
	b = appendText(b, "result_digest", r.ResultDigest)
	b = appendText(b, "args", r.ArgsShape)
	b = appendCount(b, "bytes", r.Bytes)
	b = appendCount(b, "redactions", int64(r.Redactions))
	b = appendMillis(b, "duration_ms", r.Duration)
	b = appendText(b, "error", r.Error)
	return appendText(b, "trace", r.Trace)
}

func appendText(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	return appendString(appendName(b, name), text)
}

func appendCount(b []byte, name string, n int64) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(appendName(b, name), n, 10)
}

// appendMillis leaves out what JSON has no number for.
func appendMillis(b []byte, name string, ms float64) []byte {
	if ms == 0 || math.IsNaN(ms) || math.IsInf(ms, 0) {
		return b
	}
	return strconv.AppendFloat(appendName(b, name), ms, 'f', 3, 64)
}

func appendName(b []byte, name string) []byte {
	b = append(b, ',', '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

// appendString writes text as a JSON string that is one line and that a
// terminal shows as it is: control and invisible characters are escaped, bytes
// that are not UTF-8 become U+FFFD.
func appendString(b []byte, text string) []byte {
	text, cut := clip(text)
	b = append(b, '"')
	plain := 0 // text[plain:i] needs no escape
	for i := 0; i < len(text); {
		if c := text[i]; c >= ' ' && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if needsEscape(r, size) {
			b = append(b, text[plain:i]...)
			b = appendEscape(b, r)
			plain = i + size
		}
		i += size
	}
	b = append(b, text[plain:]...)
	if cut {
		b = append(b, "…"...)
	}
	return append(b, '"')
}

// clip cuts text to maxText bytes, between two runes.
func clip(text string) (short string, cut bool) {
	if len(text) <= maxText {
		return text, false
	}
	end := maxText
	for end > maxText-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end], true
}

// needsEscape says of what is not plain ASCII whether it can stay as it is.
func needsEscape(r rune, size int) bool {
	if r == utf8.RuneError && size == 1 || r == '"' || r == '\\' {
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

func appendEscape(b []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	switch {
	case r == '"' || r == '\\':
		return append(b, '\\', byte(r))
	case r == '\n':
		return append(b, '\\', 'n')
	case r == '\t':
		return append(b, '\\', 't')
	case r > 0xffff: // JSON has no other way to say it than in two halves
		r -= 0x10000
		return appendEscape(appendEscape(b, 0xd800+r>>10), 0xdc00+r&0x3ff)
	}
	return append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}
