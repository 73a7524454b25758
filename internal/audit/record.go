package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// A Phase is the stage of a call: the intent, the end and so on.
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
	Kind         string  `json:"kind,omitzero"`   // resource, prompt, completion, model, job, task, command or operator; empty for tools
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
	Head         string  `json:"head,omitzero"`  // beginning of the result, if the operator wants it
	End          string  `json:"end,omitzero"`   // how its work ended, if that is not the outcome: exit code 1
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

// lookupKey returns the columns by which Count finds the record: a hash of the caller, and the
// tool and arguments. Records of intents and of questions are not counted.
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

// appendRow appends the beginning of a line: all but the links. The fields are encoded before the lock of the log is
// taken, the number and the time when it is held; and the lines of existing stores have this form.
func appendRow(b []byte, seq uint64, now time.Time, fields []byte) []byte {
	b = append(b, `{"seq":`...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, `,"ts":"`...)
	b = now.AppendFormat(b, timeFormat)
	b = append(b, '"')
	return append(b, fields...)
}

// appendFields appends the fields of r as `,"name":value`. Numbers that JSON cannot represent are left out.
func appendFields(b []byte, r Record) []byte {
	r.Duration, r.Cost = finite(math.Round(r.Duration*1000)/1000), finite(r.Cost)
	fields := reflect.ValueOf(&r).Elem()
	for i := range fields.NumField() {
		if f := fields.Field(i); f.Kind() == reflect.String && f.Len() > maxText {
			f.SetString(text.Clip(f.String(), maxText))
		}
	}
	written, err := json.Marshal(&r)
	if err != nil || len(written) <= len("{}") { // texts and finite numbers cannot fail
		return b
	}
	return append(b, escapeInvisible(append([]byte{','}, written[1:len(written)-1]...))...)
}

func finite(n float64) float64 {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return 0
	}
	return n
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
