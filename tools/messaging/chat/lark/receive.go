package lark

import (
	"bytes"
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/wire"
)

const (
	maxContent = 64 << 10
	maxFiles   = 20
)

type envelope struct {
	Encrypt   string `json:"encrypt"`
	Type      string `json:"type"` // of a challenge
	Challenge string `json:"challenge"`
	Token     string `json:"token"`
	Header    struct {
		ID      string `json:"event_id"`
		Type    string `json:"event_type"`
		Created string `json:"create_time"` // milliseconds
		Token   string `json:"token"`
		App     string `json:"app_id"`
	} `json:"header"`
	Event struct {
		Sender struct {
			ID   ids    `json:"sender_id"`
			Type string `json:"sender_type"`
		} `json:"sender"`
		Message  message `json:"message"`
		Operator ids     `json:"operator"`
		Action   struct {
			Value struct {
				Data string `json:"data"`
			} `json:"value"`
		} `json:"action"`
		Context struct {
			Message string `json:"open_message_id"`
			Chat    string `json:"open_chat_id"`
		} `json:"context"`
	} `json:"event"`
}

type ids struct {
	Open string `json:"open_id"`
}

type message struct {
	ID       string `json:"message_id"`
	Root     string `json:"root_id"`
	Parent   string `json:"parent_id"`
	Thread   string `json:"thread_id"`
	Chat     string `json:"chat_id"`
	ChatType string `json:"chat_type"`
	Type     string `json:"message_type"`
	Content  string `json:"content"` // JSON
	Mentions []struct {
		Key  string `json:"key"`
		Name string `json:"name"`
	} `json:"mentions"`
}

// Receive implements [chat.Hook].
func (c *Channel) Receive(r *http.Request, body []byte, now time.Time) ([]chat.Incoming, chat.Response, error) {
	key, err := c.a.Secrets["encrypt_key"].Get(r.Context(), "key of Lark")
	if err != nil {
		return nil, chat.Response{}, err
	}
	token, err := c.a.Secrets["signing_secret"].Get(r.Context(), "verification token of Lark")
	if err != nil {
		return nil, chat.Response{}, err
	}
	if key == "" && token == "" {
		return nil, chat.Response{},
			wire.Forged("the channel has neither a key nor a token that could verify the request")
	}
	e, err := open(body, key)
	if err != nil {
		return nil, chat.Response{}, err
	}
	isChallenge := e.Type == "url_verification" // has no signature
	if key != "" && !isChallenge {
		if err := verify(r.Header, key, body, now); err != nil {
			return nil, chat.Response{}, err
		}
	}
	if got := cmp.Or(e.Header.Token, e.Token); token != "" &&
		subtle.ConstantTimeCompare([]byte(got), []byte(token)) != 1 {
		return nil, chat.Response{}, wire.Forged("the verification token is missing or not valid")
	}
	if isChallenge {
		answer, err := json.Marshal(map[string]string{"challenge": e.Challenge})
		return nil, chat.Response{Body: answer}, err
	}
	response := chat.Response{Body: []byte("{}")}
	if e.Header.App != "" && e.Header.App != c.a.Values["app_id"] {
		return nil, chat.Response{}, wire.Forged("the request is for another app")
	}
	in, ok := e.incoming(now)
	if !ok {
		return nil, response, nil
	}
	return []chat.Incoming{in}, response, nil
}

// open decrypts and parses a request. Requests that are not encrypted are refused if there is a key.
func open(body []byte, key string) (*envelope, error) {
	e := &envelope{}
	if err := wire.Decode(body, e); err != nil {
		return nil, err
	}
	switch {
	case key == "" && e.Encrypt == "":
		return e, nil
	case key == "":
		return nil, wire.Forged("the request is encrypted, and the channel has no key")
	case e.Encrypt == "":
		return nil, wire.Forged("the request is not encrypted")
	}
	plain, err := decrypt(e.Encrypt, key)
	if err != nil {
		return nil, wire.Forged("the request is not encrypted with the key of the channel")
	}
	e = &envelope{}
	if err := json.Unmarshal(plain, e); err != nil {
		return nil, wire.Forged("the request is not encrypted with the key of the channel")
	}
	return e, nil
}

// decrypt decrypts base64 of an initialization vector and AES-256-CBC. All failures
// are the same error, so that an answer says nothing about the padding.
func decrypt(encoded, key string) ([]byte, error) {
	failed := errors.New("it cannot be decrypted")
	data, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(data) < 2*aes.BlockSize || len(data)%aes.BlockSize != 0 {
		return nil, failed
	}
	sum := sha256.Sum256([]byte(key))
	block, err := aes.NewCipher(sum[:])
	if err != nil {
		return nil, failed
	}
	plain := make([]byte, len(data)-aes.BlockSize)
	cipher.NewCBCDecrypter(block, data[:aes.BlockSize]).CryptBlocks(plain, data[aes.BlockSize:])
	padding := int(plain[len(plain)-1])
	if padding == 0 || padding > aes.BlockSize ||
		!bytes.Equal(plain[len(plain)-padding:], bytes.Repeat([]byte{byte(padding)}, padding)) {
		return nil, failed
	}
	return plain[:len(plain)-padding], nil
}

// verify checks the signature: the SHA-256 of timestamp, nonce, key and body.
func verify(header http.Header, key string, body []byte, now time.Time) error {
	at := header.Get("X-Lark-Request-Timestamp")
	sum := sha256.Sum256([]byte(at + header.Get("X-Lark-Request-Nonce") + key + string(body)))
	signature, err := hex.DecodeString(header.Get("X-Lark-Signature"))
	if err != nil || subtle.ConstantTimeCompare(signature, sum[:]) != 1 {
		return wire.Forged("the signature is missing or not valid")
	}
	_, err = wire.Fresh(at, now)
	return err
}

// incoming returns the message of an event. It reports false for other events.
func (e *envelope) incoming(now time.Time) (chat.Incoming, bool) {
	in := chat.Incoming{ID: chat.CleanName(e.Header.ID, maxName), At: now}
	if ms, err := strconv.ParseInt(e.Header.Created, 10, 64); err == nil {
		in.At = time.UnixMilli(ms)
	}
	switch e.Header.Type {
	case "im.message.receive_v1":
		m := e.Event.Message
		in.From = chat.Person{ID: e.Event.Sender.ID.Open, Bot: e.Event.Sender.Type != "user"}
		in.Group = m.ChatType != "p2p"
		in.Message = chat.Ref{Chat: m.Chat, ID: m.ID}
		if m.Thread != "" {
			in.Message.Thread = cmp.Or(m.Root, m.ID)
		}
		in.ReplyTo = m.Parent
		m.read(&in)
	case "card.action.trigger":
		in.From = chat.Person{ID: e.Event.Operator.Open}
		in.Message = chat.Ref{Chat: e.Event.Context.Chat, ID: e.Event.Context.Message}
		in.Pressed = e.Event.Action.Value.Data
	}
	for _, id := range []string{in.From.ID, in.Message.Chat, in.Message.ID} {
		if !isID(id) {
			return in, false
		}
	}
	for _, id := range []string{in.Message.Thread, in.ReplyTo} {
		if id != "" && !isID(id) {
			return in, false
		}
	}
	return in, in.ID != "" && (in.Text != "" || in.Files != nil || in.Pressed != "")
}

// read reads the content of a message.
func (m message) read(in *chat.Incoming) {
	var content struct {
		Text  string        `json:"text"`
		Title string        `json:"title"`
		Lines [][]textOrKey `json:"content"`
		Image string        `json:"image_key"`
		File  string        `json:"file_key"`
		Name  string        `json:"file_name"`
	}
	if json.Unmarshal([]byte(m.Content), &content) != nil {
		return
	}
	text := content.Text
	if m.Type == "post" {
		var b strings.Builder
		if content.Title != "" {
			b.WriteString(content.Title + "\n\n")
		}
		for _, line := range content.Lines {
			for _, part := range line {
				b.WriteString(part.text())
				m.attach(in, part.Image, "image", "image.png")
				m.attach(in, part.File, "file", "file")
			}
			b.WriteByte('\n')
		}
		text = b.String()
	}
	text = chat.CleanText(text, maxContent)
	for _, mention := range m.Mentions {
		if len(text) <= maxContent && strings.HasPrefix(mention.Key, "@_user_") { // names make a text grow
			text = strings.ReplaceAll(text, mention.Key, "@"+chat.CleanName(mention.Name, maxName))
		}
	}
	in.Text = strings.TrimSpace(chat.CleanText(text, maxContent))
	if m.Type == "image" {
		m.attach(in, content.Image, "image", "image.png")
	} else {
		m.attach(in, content.File, "file", content.Name)
	}
}

type textOrKey struct {
	Tag   string `json:"tag"`
	Text  string `json:"text"`
	Href  string `json:"href"`
	User  string `json:"user_name"`
	Image string `json:"image_key"`
	File  string `json:"file_key"`
}

func (p textOrKey) text() string {
	switch {
	case p.Tag == "at":
		return "@" + p.User
	case p.Tag == "a" && p.Href != "":
		return p.Text + " (" + p.Href + ")"
	}
	return p.Text
}

// attach adds a file by its key.
func (m message) attach(in *chat.Incoming, key, kind, name string) {
	if !isID(key) || len(in.Files) >= maxFiles {
		return
	}
	a := chat.Attachment{Name: cmp.Or(chat.CleanName(name, maxName), "file"), ID: m.ID + "/" + key + "/" + kind}
	switch {
	case kind == "image":
		a.MIME = "image/png"
	case m.Type == "audio":
		a.Name, a.MIME = "audio.opus", "audio/ogg"
	case m.Type == "media":
		a.MIME = "video/mp4"
	}
	in.Files = append(in.Files, a)
}
