package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A Phase is the stage of a call at which a record was written.
type Phase string

const (
	Intent Phase = "intent" // before a call that changes something runs
	Done   Phase = "done"   // when its outcome is known
)

// A Record describes a call. Empty fields are left out. Texts must have been
// scrubbed; those over 4 KiB are cut.
type Record struct {
	Phase        Phase   `json:"phase,omitempty"`
	Call         string  `json:"call,omitempty"`
	Parent       string  `json:"parent,omitempty"` // the call that made this one
	Kind         string  `json:"kind,omitempty"`   // resource, prompt or completion; empty for tools
	Tool         string  `json:"tool,omitempty"`
	Alias        string  `json:"alias,omitempty"` // the name in the request, if it was another
	Agent        string  `json:"agent,omitempty"`
	User         string  `json:"user,omitempty"`
	Session      string  `json:"session,omitempty"`
	Transport    string  `json:"transport,omitempty"`
	Profile      string  `json:"profile,omitempty"`
	Risk         string  `json:"risk,omitempty"`
	Verdict      string  `json:"verdict,omitempty"`
	Approval     string  `json:"approval,omitempty"`
	Outcome      string  `json:"outcome,omitempty"` // ok, refused, invalid, busy, ...
	ArgsDigest   string  `json:"args_digest,omitempty"`
	ResultDigest string  `json:"result_digest,omitempty"`
	ArgsShape    string  `json:"args,omitempty"`
	Bytes        int64   `json:"bytes,omitempty"` // of the result
	Redactions   int     `json:"redactions,omitempty"`
	Repeats      int     `json:"repeats,omitempty"`     // equal results in a row, if the model was advised
	Duration     float64 `json:"duration_ms,omitempty"` // with a resolution of a microsecond
	Error        string  `json:"error,omitempty"`
	Trace        string  `json:"trace,omitempty"`
}

// A Row is a record that was read from the log.
type Row struct {
	Chain string    `json:"chain"`
	Seq   uint64    `json:"seq"` // number in the chain, from 1
	Time  time.Time `json:"ts"`  // by the clock of the writer
	Record
	Prev string `json:"prev"`
	Hash string `json:"hash"`

	line string // the line in the store
}

// digestLen is the number of digits of an argument digest that are compared.
const digestLen = 32

// lookupKey returns the columns by which Count finds the record. Records of
// intents and of questions are not counted.
func lookupKey(r *Record) (who int64, what string) {
	if r.Phase == Intent || r.Outcome == "asked" {
		return 0, ""
	}
	if len(r.ArgsDigest) >= digestLen {
		what = r.ArgsDigest[:digestLen]
	}
	return callerKey(r.Tool, r.Agent, r.User), what
}

// callerKey returns a hash of a tool and a caller. It is never 0.
func callerKey(tool, agent, user string) int64 {
	sum := sha256.Sum256([]byte(strings.Join([]string{tool, agent, user}, "\x00")))
	return int64(binary.BigEndian.Uint64(sum[:8]) | 1)
}

const (
	maxText    = 4 << 10 // maximum bytes of one text
	timeFormat = "2006-01-02T15:04:05.000000Z"
)

// appendRow appends the beginning of a line: all but the links.
func appendRow(b []byte, seq uint64, now time.Time, fields []byte) []byte {
	b = append(b, `{"seq":`...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, `,"ts":"`...)
	b = now.AppendFormat(b, timeFormat)
	b = append(b, '"')
	return append(b, fields...)
}

// appendFields appends the fields of r as `,"name":value`. encoding/json takes
// three times as long, and does not escape terminal controls.
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
	b = appendCount(b, "repeats", int64(r.Repeats))
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

// appendMillis appends a number, unless JSON cannot represent it.
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

// appendString appends text as a JSON string without line breaks. It escapes
// control and invisible characters and replaces invalid UTF-8 by U+FFFD.
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

// clip cuts text to maxText bytes at a rune.
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

// needsEscape reports whether a character that is not plain ASCII needs an
// escape.
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
	case r > 0xffff: // JSON needs two escapes
		r -= 0x10000
		return appendEscape(appendEscape(b, 0xd800+r>>10), 0xdc00+r&0x3ff)
	}
	return append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}
