// Package engine runs JavaScript in a process of its own, started by the server. The script has
// no files, network or imports: it can call tools, through messages to the server on stdin and
// stdout.
//
// Begin with [Main], the process. wire.go has the messages; the server uses them too.
package engine

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// Arg is the argument that makes this program run a script.
const Arg = "script-engine"

// A Start is the first message to the process.
type Start struct {
	Code  string
	Args  json.RawMessage // the value of args in the script; nil for undefined
	Tools []string        // the names that tools has
}

// A Reply is the answer to a Call.
type Reply struct {
	Value json.RawMessage `json:",omitempty"`
	Text  string          `json:",omitempty"` // if there is no Value
	Error string          `json:",omitempty"` // thrown if not ""
	Kind  string          `json:",omitempty"` // of the error
}

// A Message is a message of the process: a call of a tool, or the end of the script.
type Message struct {
	Printed string `json:",omitempty"` // since the last message
	Call    *Call  `json:",omitempty"`
	End     *End   `json:",omitempty"`
}

// A Call is a call of a tool.
type Call struct {
	Tool string
	Args json.RawMessage
}

// An End is the result of a script.
type End struct {
	Value json.RawMessage `json:",omitempty"` // the script's value; nil for nothing
	Text  string          `json:",omitempty"` // likewise, if it is a string
	Error string          `json:",omitempty"`
	Line  int             `json:",omitempty"` // of the error, from 1; 0 if it is not known
}

// MaxMessage bounds a message, in bytes.
const MaxMessage = 16 << 20

// Send writes a message.
func Send(w io.Writer, message any) error {
	written, err := text.JSON(message) // < in a value stays <
	if err != nil {
		return err
	}
	if len(written) > MaxMessage {
		return fmt.Errorf("a message has %d bytes, the maximum is %d", len(written), MaxMessage)
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(written))), written...))
	return err
}

// Receive reads a message.
func Receive(r io.Reader, message any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > MaxMessage {
		return fmt.Errorf("a message has %d bytes, the maximum is %d", size, MaxMessage)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return err
	}
	return json.Unmarshal(text, message)
}
