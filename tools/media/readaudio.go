package media

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/media/generated"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// readAudio returns the words of a recording, and facts about it.
type readAudio struct{ studio }

type readAudioArgs struct {
	Path     string `json:"path,omitempty" jsonschema:"file to read" alias:"file_path,audio,audio_path,file,media_id,audioPath"`
	URL      string `json:"url,omitempty" jsonschema:"URL in place of path" alias:"audio_url,audioUrl" maxlen:"8192"`
	Language string `json:"language,omitempty" jsonschema:"spoken language, such as de" alias:"lang"`
	Speakers bool   `json:"speakers,omitempty" jsonschema:"tell speakers apart, with times" alias:"diarize"`
	Prompt   string `json:"prompt,omitempty" jsonschema:"question about the sound" alias:"question"`
	Hint     string `json:"hint,omitempty" hidden:"true" jsonschema:"names and terms that occur"`
	Model    string `json:"model,omitempty" hidden:"true" jsonschema:"PROVIDER/MODEL" alias:"provider"`
}

func (readAudio) Spec() tool.Spec {
	return tool.Spec{
		Name: "read_audio", Group: groupRead, Title: "Read audio", Risk: tool.Reads,
		Hints: tool.Hints{Idempotent: true, OpenWorld: true}, Timeout: readTimeout,
		Doc: `Returns the transcript of a recording, its duration, format and tags.`,
		Also: []string{"audio_transcribe", "tool::audio_transcribe", "transcribe", "transcribe_audio",
			"speech_to_text"},
		Bare: "path",
		Keywords: "audio sound voice message speech transcribe transcript transcription listen hear music recording " +
			"podcast meeting mp3 wav ogg m4a duration",
	}
}

func (a readAudioArgs) request() wire.TranscriptionRequest {
	return wire.TranscriptionRequest{
		To: wire.To{Model: a.Model}, Language: a.Language, Hint: a.Hint, Speakers: a.Speakers,
	}
}

func (t readAudio) Prepare(_ context.Context, a readAudioArgs) (tool.Plan, error) {
	name, err := normalized("read_audio", a.Path, a.URL)
	if err != nil {
		return tool.Plan{}, err
	}
	plan := tool.Plan{Run: func(ctx context.Context) (tool.Result, error) { return t.read(ctx, name, a) }}
	switch {
	case a.Prompt != "" && t.Providers.Can(wire.Description):
		plan.Ask = t.Providers.Ask(wire.DescriptionRequest{To: wire.To{Model: a.Model}, Prompt: a.Prompt})
	case t.usesProvider():
		plan.Ask = t.Providers.Ask(a.request())
	}
	return plan, nil
}

// usesProvider reports whether recordings are sent to a provider. The operator's own
// program comes first: it costs nothing, and the recording stays here.
func (s studio) usesProvider() bool {
	return len(s.Transcribe) == 0 && s.Providers.Can(wire.Transcription)
}

func (t readAudio) read(ctx context.Context, name string, a readAudioArgs) (tool.Result, error) {
	src, err := t.open(ctx, name, maxSound)
	if err != nil {
		return tool.Result{}, err
	}
	defer func() { src.close() }()
	var about string
	var length time.Duration
	if has("ffprobe") {
		f, err := t.probe(ctx, src)
		if err != nil {
			return tool.Result{}, err
		}
		if !f.has("audio") {
			return tool.Result{}, tool.Errorf(tool.Invalid, "%q has no sound", src.name).
				Try("read a picture with read_image, a document with read_document")
		}
		about, length = f.describe(src), f.duration
	}
	heard, err := t.hear(ctx, src, a, length)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(strings.TrimSpace(about + "\n" + heard)), nil
}

// hear returns the transcript of a recording, or the answer to a question about it.
func (t readAudio) hear(ctx context.Context, src *source, a readAudioArgs, length time.Duration) (string, error) {
	if a.Prompt != "" && t.Providers.Can(wire.Description) {
		sound, err := t.forProvider(ctx, src)
		if err != nil {
			return "", err
		}
		return t.ask(ctx, a.Model, a.Prompt, sound)
	}
	switch {
	case len(t.Transcribe) > 0:
		return t.transcribeHere(ctx, src, a.Language)
	case t.Providers.Can(wire.Transcription):
		return t.transcribeThere(ctx, src, a, length)
	}
	return "[no transcript: the operator has set up neither a provider for transcription nor a program " +
		"(media.transcribe.command)]", nil
}

// transcribeHere runs the operator's program.
func (t readAudio) transcribeHere(ctx context.Context, src *source, language string) (string, error) {
	file, err := src.file()
	if err != nil {
		return "", err
	}
	if has("ffmpeg") {
		track, err := t.speechTrack(ctx, src)
		if err != nil {
			return "", err
		}
		defer private.Discard(track)
		file = track.Name()
	}
	argv, files := filled(t.Transcribe, map[string]string{"file": file, "language": language})
	var out bytes.Buffer
	err = t.run(ctx, &out, job{argv: argv, files: append(files, file), time: readTimeout, max: maxTranscript})
	if err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", tool.Errorf(tool.Unavailable, "%s, which the operator has set up, could not transcribe %q",
			programName(argv[0]), src.name).Because(err).Try("try another language, or ask the operator")
	}
	said := strings.TrimSpace(out.String())
	if said == "" {
		return "[no speech was recognized]", nil
	}
	return "[transcript by " + programName(argv[0]) + "]\n" + src.quote("transcript", said), nil
}

// maxTranscript is the size of the longest transcript, in bytes.
const maxTranscript = 8 << 20

// transcribeThere asks a provider.
func (t readAudio) transcribeThere(ctx context.Context, src *source, a readAudioArgs, length time.Duration) (string,
	error) {
	sound, err := t.forProvider(ctx, src)
	if err != nil {
		return "", err
	}
	r := a.request()
	r.Audio, r.Seconds = sound, int(length.Seconds())
	said, by, err := t.Providers.Transcribe(ctx, r)
	if err != nil {
		return "", err
	}
	line := "[transcript by " + byline(by)
	for _, note := range by.Notes {
		line += "; " + note
	}
	content := said.Text
	if len(said.Segments) > 0 {
		var b strings.Builder
		for _, s := range said.Segments {
			fmt.Fprintf(&b, "[%s] ", clock(s.Start))
			if s.Speaker != "" {
				b.WriteString(s.Speaker + ": ")
			}
			b.WriteString(strings.TrimSpace(s.Text) + "\n")
		}
		content = strings.TrimSpace(b.String())
	}
	if content == "" {
		return line + ": no speech was recognized]", nil
	}
	return line + "]\n" + src.quote("transcript", content), nil
}

const (
	maxSent  = 20 << 20 // bytes of a recording that a provider gets
	plainest = 8 << 20  // bytes of a recording that is sent as it is
)

// forProvider returns a recording as a provider gets it: a large one is compressed, and of a
// video only the sound track is taken.
func (s studio) forProvider(ctx context.Context, src *source) (wire.File, error) {
	head, err := src.head()
	if err != nil {
		return wire.File{}, err
	}
	kind := generated.TypeOf(head)
	if strings.HasPrefix(kind.MIME, "audio/") && src.size <= plainest || !has("ffmpeg") {
		data, err := src.content(maxSent)
		return wire.File{Name: src.base(), MIME: kind.MIME, Data: data}, err
	}
	file, err := src.file()
	if err != nil {
		return wire.File{}, err
	}
	var out bytes.Buffer
	argv := append(ffmpeg(file), "-map", "0:a:0", "-vn", "-ac", "1", "-ar", "16000", "-b:a", "32k", "-f", "mp3",
		"pipe:1")
	if err := s.run(ctx, &out, job{argv: argv, files: []string{file}, max: maxSent,
		time: readTimeout}); err != nil {
		return wire.File{}, explain(src.name, err)
	}
	return wire.File{Name: "sound.mp3", MIME: "audio/mpeg", Data: out.Bytes()}, nil
}
