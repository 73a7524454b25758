// Package wire is shared by the providers of media: it has the requests and answers of each
// task, one client for all their APIs, and the meaning of their errors.
//
// The attempts, bounds and credentials are package api's. The SDKs of OpenAI and Google are not
// used: package llm has their cost.
//
// It knows no provider. The packages beside it, one for each provider, translate between a
// request here and the JSON there; package provider chooses between them. The responses of
// providers are not trusted: they are bounded while they are read, and the URLs in them may
// lead anywhere.
//
// Begin with [Client], then with the smallest provider, tools/media/provider/elevenlabs.
package wire

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A Task is an ability of a provider.
type Task string

// The tasks.
const (
	Photo         Task = "photo"         // pictures from text, or from pictures and text
	Speech        Task = "speech"        // text read aloud
	Transcription Task = "transcription" // the words of a recording
	Description   Task = "description"   // answers about pictures, sound and video
	Sound         Task = "sound"         // sound effects
	Music         Task = "music"
	Video         Task = "video" // from text, or from a picture and text
)

// Tasks lists all tasks.
func Tasks() []Task {
	return []Task{Photo, Speech, Transcription, Description, Sound, Music, Video}
}

// A File is content with its type.
type File struct {
	Name string // with an extension; "" for files that providers make
	MIME string
	Data []byte
}

// A Params has the parameters that a model accepts, from the table of models, such as the
// lengths of its videos.
type Params map[string]string

// List returns a parameter that is a list.
func (p Params) List(name string) []string {
	if p[name] == "" {
		return nil
	}
	return strings.Split(p[name], ",")
}

// Nearest returns the number in a list, such as 6,10 or 3-10, that is the first one not
// less than n, or else the last one. Without a list it returns n.
func (p Params) Nearest(name string, n int) int {
	list := p.List(name)
	if len(list) == 0 {
		return n
	}
	last := n
	for _, one := range list {
		from, to, ranged := strings.Cut(one, "-")
		low, _ := strconv.Atoi(from)
		high, _ := strconv.Atoi(cmp.Or(to, from))
		if ranged && n > low && n <= high {
			return n
		}
		if n <= low {
			return low
		}
		last = high
	}
	return last
}

// Choose returns want if it is in a list, in upper or lower case, else the first of the list.
// Without a list it returns want.
func (p Params) Choose(name, want string) string {
	list := p.List(name)
	for _, one := range list {
		if strings.EqualFold(one, want) {
			return one
		}
	}
	if len(list) == 0 {
		return want
	}
	return list[0]
}

// A To names the provider and the model of a request. Callers of package provider set Model, to
// "", PROVIDER, PROVIDER/MODEL or MODEL; providers get their own name of the model, and its
// parameters.
type To struct {
	Model  string
	Params Params
}

// A Request is one of the requests below.
type Request interface {
	Task() Task
	Target() To
	// Amount returns how much of a unit is asked for, as far as that is known.
	Amount(u Unit) float64
}

// A Unit is the unit of a price.
type Unit string

// The units.
const (
	Once     Unit = "call"
	Picture  Unit = "picture"
	Second   Unit = "second"   // of sound or video
	Minute   Unit = "minute"   // likewise
	Thousand Unit = "thousand" // characters
)

// Target returns the provider and the model.
func (t To) Target() To { return t }

// A PhotoRequest asks for pictures.
type PhotoRequest struct {
	To
	Prompt     string
	Aspect     string // such as 16:9; "" is the model's choice
	Size       string // 1K, 2K or 4K, or WIDTHxHEIGHT; "" is the model's default
	Quality    string // low, medium or high; "" is the model's default
	Format     string // png, jpeg or webp; providers send another one if they have no other
	Background string // transparent or opaque; "" is the model's choice
	Count      int    // 0 is one
	Pictures   []File // that the prompt is about; none: from text only
}

// A SpeechRequest asks for a text to be read aloud.
type SpeechRequest struct {
	To
	Text     string
	Voice    string  // the provider's name; "" is its default
	Format   string  // mp3, wav or opus; providers send another one if they have no other
	Speed    float64 // 1 is normal; 0 is the default
	Language string  // such as de; "" is recognized
	Style    string  // how it is read, in words; not every model has it
}

// A TranscriptionRequest asks for the words of a recording.
type TranscriptionRequest struct {
	To
	Audio    File
	Language string // such as de; "" is recognized
	Hint     string // names and terms that occur in it
	Speakers bool   // whether speakers and times are wanted
	Seconds  int    // its length, for the price; 0 if unknown
}

// A Transcript has the words of a recording.
type Transcript struct {
	Text     string
	Language string
	Segments []Segment // only of models that have times
}

// A Segment is a part of a Transcript by one speaker.
type Segment struct {
	Start, End time.Duration
	Speaker    string // "" if unknown
	Text       string
}

// A DescriptionRequest asks a model about files.
type DescriptionRequest struct {
	To
	Prompt    string
	Files     []File // pictures, sound, video or PDF, as far as the model takes them
	MaxTokens int    // 0 is the default
}

// A SoundRequest asks for a sound effect.
type SoundRequest struct {
	To
	Prompt  string
	Seconds float64 // 0 is the model's choice
	Loop    bool
}

// A MusicRequest asks for music.
type MusicRequest struct {
	To
	Prompt       string
	Lyrics       string // with [Verse] and [Chorus]
	Instrumental bool
	Seconds      int // 0 is the model's choice
}

// A VideoRequest asks for a video.
type VideoRequest struct {
	To
	Prompt     string
	Picture    *File  // its first frame; nil: from text only
	Seconds    int    // 0 is the model's default
	Aspect     string // 16:9 or 9:16; "" is the model's default
	Resolution string // such as 720p; "" is the model's default
}

// A Ticket names an order at a provider that takes long. Its JSON form can be stored.
type Ticket struct {
	ID     string `json:"id"`
	Status string `json:"status,omitempty"` // the path of its status, if the provider says so
	Result string `json:"result,omitempty"`
	Cancel string `json:"cancel,omitempty"`
}

// A Made is the state of an order: a ticket to ask with later or, when it has ended, files and
// links to files.
type Made struct {
	Ticket  Ticket
	Files   []File
	URLs    []string // of files that are to be downloaded; the provider's own get its key
	Message string   // how far it is, in the provider's words
	Ended   bool     // an error that comes with it is final
}

// DataURL returns the content of a file as a URL.
func (f File) DataURL() string { return "data:" + f.MIME + ";base64," + f.Base64() }

// WAV returns a file with sound: samples of 16 bits on one channel.
func WAV(samples []byte, rate int) File {
	var b bytes.Buffer
	put := func(n int, size int) {
		for range size {
			b.WriteByte(byte(n))
			n >>= 8
		}
	}
	b.WriteString("RIFF")
	put(36+len(samples), 4)
	b.WriteString("WAVEfmt ")
	put(16, 4)
	put(1, 2) // bare samples
	put(1, 2) // one channel
	put(rate, 4)
	put(rate*2, 4)
	put(2, 2)
	put(16, 2)
	b.WriteString("data")
	put(len(samples), 4)
	b.Write(samples)
	return File{MIME: "audio/wav", Data: b.Bytes()}
}

// isMedia reports whether content is media that a provider may have made, and returns its type.
func isMedia(declared string, data []byte) (string, bool) {
	kind := MIMEOf(data, declared)
	for _, start := range []string{"image/", "audio/", "video/"} {
		if strings.HasPrefix(kind, start) {
			return kind, true
		}
	}
	return kind, false
}

// MIMEOf returns the type of content by its first bytes, or the declared type if they are not
// text.
func MIMEOf(data []byte, declared string) string {
	declared, _, _ = strings.Cut(strings.ToLower(declared), ";")
	declared = strings.TrimSpace(declared)
	switch {
	case bytes.HasPrefix(data, []byte("ID3")), len(data) > 2 && data[0] == 0xff && data[1]&0xe6 == 0xe2:
		return "audio/mpeg"
	case len(data) > 2 && data[0] == 0xff && data[1]&0xf6 == 0xf0:
		return "audio/aac"
	case bytes.HasPrefix(data, []byte("OggS")):
		return "audio/ogg"
	case bytes.HasPrefix(data, []byte("fLaC")):
		return "audio/flac"
	case len(data) > 12 && string(data[4:8]) == "ftyp" && string(data[8:11]) == "M4A":
		return "audio/mp4"
	}
	found, _, _ := strings.Cut(http.DetectContentType(data), ";")
	switch {
	case found == "audio/wave":
		return "audio/wav"
	case found == "application/octet-stream" && declared != "":
		return declared
	case strings.HasPrefix(found, "text/") || json.Valid(data):
		return "text/plain"
	}
	return found
}

// Base64 returns the content of a file in base64.
func (f File) Base64() string { return base64.StdEncoding.EncodeToString(f.Data) }
