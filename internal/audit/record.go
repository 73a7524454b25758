package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"time"
)

// A Phase says when in a call's life a record was written.
type Phase string

const (
	Intent Phase = "intent" // before a call that changes something runs
	Done   Phase = "done"   // when its outcome is known
)

// A Record is what is written down about a call. Empty fields are left out.
// Texts must have been scrubbed; those over 4 KiB are cut.
type Record struct {
	Phase        Phase   `json:"phase,omitempty"`
	Call         string  `json:"call,omitempty"`
	Parent       string  `json:"parent,omitempty"` // the call that made this one
	Kind         string  `json:"kind,omitempty"`   // resource, prompt or completion when it is no call of a tool
	Tool         string  `json:"tool,omitempty"`
	Alias        string  `json:"alias,omitempty"` // the name it was called by, when it was another
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
	Bytes        int64   `json:"bytes,omitempty"` // handed out
	Redactions   int     `json:"redactions,omitempty"`
	Duration     float64 `json:"duration_ms,omitempty"` // kept to the microsecond
	Error        string  `json:"error,omitempty"`
	Trace        string  `json:"trace,omitempty"`
}

// A Row is a record as it was found in a chain.
type Row struct {
	Chain string    `json:"chain"`
	Seq   uint64    `json:"seq"` // counts the records of the chain, from 1
	Time  time.Time `json:"ts"`  // when it was written, by the writer's clock
	Record
	Prev string `json:"prev"`
	Hash string `json:"hash"`

	line string // as it stands in the store
}

// digestLen is how many digits of a digest of arguments are compared.
const digestLen = 32

// lookupKey is what a record is found by when somebody wants to know how often such
// a call was made. What was not done yet, or only asked for, does not count.
func lookupKey(r *Record) (who int64, what string) {
	if r.Phase == Intent || r.Outcome == "asked" {
		return 0, ""
	}
	if len(r.ArgsDigest) >= digestLen {
		what = r.ArgsDigest[:digestLen]
	}
	return callerKey(r.Tool, r.Agent, r.User), what
}

// callerKey stands for a tool and whom it was called for. It is never 0.
func callerKey(tool, agent, user string) int64 {
	sum := sha256.Sum256([]byte(strings.Join([]string{tool, agent, user}, "\x00")))
	return int64(binary.BigEndian.Uint64(sum[:8]) | 1)
}
