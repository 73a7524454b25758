// Package chat defines the common parts of services of chats: messages to them, messages from them, and their errors.
// The packages beneath it, one for each service, translate between these types and the service's API. They store
// nothing, retry nothing, and do not decide about receivers: package messaging does.
//
// Begin with [Channel].
package chat

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// A Channel is an account at a service, such as a bot. Its methods may be called
// concurrently. Errors of requests are of type [*Error].
type Channel interface {
	Abilities() Abilities
	// Render returns the text that the service gets for a text in Markdown.
	Render(markdown string) string
	// Check returns the name of the account, such as @bot, if the credentials are valid.
	Check(ctx context.Context) (string, error)
	// Send sends one message, once.
	Send(ctx context.Context, m Message) (Sent, error)
}

// Abilities are the abilities of a service, and its limits. A Channel that can edit, delete or react implements
// [Editor], [Deleter] or [Reactor].
type Abilities struct {
	MaxText    int   // characters (UTF-16 units where the service counts those) of a rendered text
	MaxCaption int   // likewise, of the text of a file; 0: files have no text
	MaxFile    int64 // bytes; 0: it takes no files
	Buttons    bool
	Polls      bool
	Threads    bool
	Voice      bool // it shows voice messages as such
	// Dedupes is how long the service remembers the Key of a message and does not send a
	// second one with it. 0: it does not.
	Dedupes time.Duration
}

// An Escaper is a Channel whose service reads markup in every text.
type Escaper interface {
	// Escape returns the text that the service gets, and shows as the plain text.
	Escape(plain string) string
}

// Escape returns the text that the service of c gets for a plain text.
func Escape(c Channel, plain string) string {
	if e, ok := c.(Escaper); ok {
		return e.Escape(plain)
	}
	return plain
}

// An Editor can change a message that was sent.
type Editor interface {
	Edit(ctx context.Context, at Ref, m Message) error
}

// A Deleter can delete a message that was sent.
type Deleter interface {
	Delete(ctx context.Context, at Ref) error
}

// A Reactor can add and remove reactions.
type Reactor interface {
	React(ctx context.Context, at Ref, emoji string, remove bool) error
}

// A NewTopic is a topic to be opened. Channels without colors and icons of topics ignore them.
type NewTopic struct {
	Name  string
	Color int    // RGB; 0 for the default
	Icon  string // the id of a custom emoji
}

// A TopicMaker can open a topic in a chat.
type TopicMaker interface {
	// CreateTopic returns the thread of the topic.
	CreateTopic(ctx context.Context, chat string, t NewTopic) (thread string, err error)
}

// A Ref names a message.
type Ref struct {
	Chat   string `json:"chat"`
	Thread string `json:"thread,omitempty"`
	ID     string `json:"id"`
}

// A Message is one message to a chat: a text, a file with or without a text, or a poll.
type Message struct {
	Chat    string // the service's id of a chat, a person or a room; an address of mail
	Thread  string // a topic or thread in the chat; "" for none
	ReplyTo string // the id of the message that it answers
	Key     string // the same one for each attempt to send this message
	Subject string // for services that have subjects
	Text    string // Markdown that fits into one message
	Plain   bool   // Text is not Markdown
	Silent  bool   // without a notification
	File    *File
	Poll    *Poll
	Buttons []Button // in one row
}

// UUID returns a UUID that belongs to the Key, for services that recognize repeated
// requests by one.
func (m Message) UUID() string {
	sum := sha256.Sum256([]byte(m.Key))
	b := sum[:16]
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80 // version 8, of RFC 9562
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// A File is sent with a Message.
type File struct {
	Name  string
	MIME  string
	Size  int64
	Open  func() (io.ReadCloser, error) `json:"-"`
	Voice bool                          // as a voice message
}

// A Poll asks the members of a chat.
type Poll struct {
	Question string
	Options  []string
	Multiple bool
}

// A Button is pressed by a reader of a message. Data comes back in [Incoming.Pressed]; it
// has at most 64 bytes.
type Button struct {
	Label string
	Data  string
}

// A Sent is a message that the service has accepted.
type Sent struct {
	Ref
	Notes []string // one sentence for each part of the message that was sent in another form, or not at all
}

// A Puller fetches incoming messages: by long polling, over a socket, or from a mailbox.
type Puller interface {
	// Pull runs until ctx ends or the credentials are refused. It calls deliver for each of them, and acknowledges it
	// only after deliver has returned nil. A cursor is where the next Pull begins; "" if the service itself keeps it.
	Pull(ctx context.Context, cursor string, deliver func(cursor string, in []Incoming) error) error
}

// A Hook is called by the service over HTTP.
type Hook interface {
	// Receive verifies one request and returns the messages in it, and the response that the service gets once they are
	// stored. An error of kind [Forged] means that the request is not the service's or is too old. The caller bounds
	// the body.
	Receive(r *http.Request, body []byte, now time.Time) ([]Incoming, Response, error)
}

// A Response is the body of the response to a Hook.
type Response struct {
	Type string // "" for application/json
	Body []byte
}

// A Fetcher downloads files that arrived.
type Fetcher interface {
	// Fetch writes at most limit bytes.
	Fetch(ctx context.Context, f Attachment, limit int64, into io.Writer) error
}

// An Acknowledger can show a text to the person behind a pressed button.
type Acknowledger interface {
	Acknowledge(ctx context.Context, in Incoming, text string) error
}

// An Incoming is a message or a pressed button. All of it comes from outside.
type Incoming struct {
	ID      string // of the event: a repeated event has the same one
	At      time.Time
	From    Person
	Group   bool   // the chat has more people
	Title   string // of the chat or the mail
	Message Ref    // the message, or the message whose button was pressed
	ReplyTo string // the id of the message that it answers
	Text    string
	Files   []Attachment
	Pressed string // the Data of the button; "" for messages
	Token   string // the token for [Acknowledger]
}

// A Person has written a message.
type Person struct {
	ID   string // the service's id; no other person can take it
	Name string // as the person likes it; names prove nothing
	Bot  bool
}

// An Attachment is a file that arrived and was not downloaded.
type Attachment struct {
	Name string `json:"name"`
	MIME string `json:"mime,omitempty"`
	Size int64  `json:"size,omitempty"`
	ID   string `json:"id"` // for Fetch
}

// A Kind is the meaning of an Error for the sender.
type Kind string

// The kinds of errors.
const (
	Busy    Kind = "busy"        // send it again, not before After
	Unknown Kind = "unknown"     // it may have been sent: the connection ended before the response
	Down    Kind = "unavailable" // it was not sent: the service cannot be reached or has failed
	Refused Kind = "refused"     // it will not be sent: the message or the chat is not acceptable
	Denied  Kind = "denied"      // the credentials are not valid or do not allow it
	Cannot  Kind = "cannot"      // the service has no such thing
	Forged  Kind = "forged"      // an incoming request that is not the service's
)

// An Error is a request that did not succeed.
type Error struct {
	Kind  Kind
	After time.Duration // of Busy: how long the service asks to wait
	Text  string        // the service's error message, without credentials, at most 500 bytes
	Cause error
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %v", e.Text, e.Cause)
	}
	return e.Text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// KindOf returns the kind of an error of a service, "" if it is another error.
func KindOf(err error) Kind {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Kind
	}
	return ""
}
