package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-tools/mcp-tools/internal/text"
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
	Phase        Phase   `json:"phase,omitzero"`
	Call         string  `json:"call,omitzero"`
	Parent       string  `json:"parent,omitzero"` // the call that made this one
	Kind         string  `json:"kind,omitzero"`   // resource, prompt, completion, model, job or task; empty for tools
	Tool         string  `json:"tool,omitzero"`
	Alias        string  `json:"alias,omitzero"` // the name in the request, if it was another
	Agent        string  `json:"agent,omitzero"`
	User         string  `json:"user,omitzero"`
	Session      string  `json:"session,omitzero"`
	Transport    string  `json:"transport,omitzero"`
	Profile      string  `json:"profile,omitzero"`
	Risk         string  `json:"risk,omitzero"`
	Verdict      string  `json:"verdict,omitzero"`
	Approval     string  `json:"approval,omitzero"`
	Outcome      string  `json:"outcome,omitzero"` // ok, cached, refused, invalid, busy, ...
	ArgsDigest   string  `json:"args_digest,omitzero"`
	ResultDigest string  `json:"result_digest,omitzero"`
	About        string  `json:"about,omitzero"` // first line of the argument that the call is about
	ArgsShape    string  `json:"args,omitzero"`
	Bytes        int64   `json:"bytes,omitzero"` // of the result
	Redactions   int     `json:"redactions,omitzero"`
	Repeats      int     `json:"repeats,omitzero"`     // equal results in a row, if the model was advised
	Duration     float64 `json:"duration_ms,omitzero"` // with a resolution of a microsecond
	Tokens       int     `json:"tokens,omitzero"`      // of a request to a model
	Cost         float64 `json:"cost,omitzero"`        // of a request to a model, in dollars
	Error        string  `json:"error,omitzero"`
	Trace        string  `json:"trace,omitzero"`
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

// appendFields appends the fields of r as `,"name":value`. Numbers that JSON
// cannot represent are left out.
func appendFields(b []byte, r Record) []byte {
	duration := math.Round(r.Duration*1000) / 1000
	if math.IsNaN(duration) || math.IsInf(duration, 0) {
		duration = 0
	}
	for _, f := range [...]struct {
		name, text string
		number     float64
	}{
		{"phase", string(r.Phase), 0}, {"call", r.Call, 0}, {"parent", r.Parent, 0}, {"kind", r.Kind, 0},
		{"tool", r.Tool, 0}, {"alias", r.Alias, 0}, {"agent", r.Agent, 0}, {"user", r.User, 0},
		{"session", r.Session, 0}, {"transport", r.Transport, 0}, {"profile", r.Profile, 0}, {"risk", r.Risk, 0},
		{"verdict", r.Verdict, 0}, {"approval", r.Approval, 0}, {"outcome", r.Outcome, 0},
		{"args_digest", r.ArgsDigest, 0}, {"result_digest", r.ResultDigest, 0},
		{"about", r.About, 0}, {"args", r.ArgsShape, 0},
		{"bytes", "", float64(r.Bytes)}, {"redactions", "", float64(r.Redactions)},
		{"repeats", "", float64(r.Repeats)}, {"duration_ms", "", duration}, {"tokens", "", float64(r.Tokens)},
		{"cost", "", r.Cost}, {"error", r.Error, 0}, {"trace", r.Trace, 0},
	} {
		if f.text != "" {
			b = appendString(appendName(b, f.name), text.Clip(f.text, maxText))
		} else if f.number != 0 {
			b = strconv.AppendFloat(appendName(b, f.name), f.number, 'f', -1, 64)
		}
	}
	return escapeInvisible(b)
}

func appendName(b []byte, name string) []byte {
	return append(append(append(b, `,"`...), name...), `":`...)
}

// appendString appends a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	quoted, _ := jsontext.AppendQuote(b, s) // of valid UTF-8: cannot fail
	return quoted
}

// escapeInvisible escapes the characters of JSON that a terminal might interpret
// or not show.
func escapeInvisible(line []byte) []byte {
	if !slices.ContainsFunc(line, func(c byte) bool { return c >= 0x7f }) || !bytes.ContainsFunc(line, invisible) {
		return line
	}
	var b []byte
	for _, c := range string(line) {
		switch high, low := utf16.EncodeRune(c); {
		case !invisible(c):
			b = utf8.AppendRune(b, c)
		case c > 0xffff:
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, c)
		}
	}
	return b
}

func invisible(c rune) bool {
	return c >= 0x7f && (c == utf8.RuneError || unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp))
}
