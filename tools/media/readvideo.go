package media

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/picture"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/media/generated"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// readVideo shows frames of a video, and returns facts about it and its words.
type readVideo struct{ studio }

type readVideoArgs struct {
	Path       string `json:"path,omitempty" jsonschema:"file to read" alias:"file_path,video,video_path,file,media_id"`
	URL        string `json:"url,omitempty" jsonschema:"URL in place of path" alias:"video_url,videoUrl" maxlen:"8192"`
	Frames     string `json:"frames,omitempty" jsonschema:"frames to show, default sheet: of the whole video" enum:"sheet,scenes,none"`
	At         string `json:"at,omitempty" jsonschema:"times of single frames instead, such as 0:05,1:20" alias:"time,times,timestamps"`
	Transcript bool   `json:"transcript,omitempty" jsonschema:"return the transcript" alias:"transcribe"`
	Language   string `json:"language,omitempty" hidden:"true" jsonschema:"language that is spoken" alias:"lang"`
	Prompt     string `json:"prompt,omitempty" jsonschema:"question about the video" alias:"question"`
	Model      string `json:"model,omitempty" hidden:"true" jsonschema:"PROVIDER/MODEL" alias:"provider"`
}

func (readVideo) Spec() tool.Spec {
	return tool.Spec{
		Name: "read_video", Group: groupRead, Title: "Read video", Risk: tool.Reads,
		Hints: tool.Hints{Idempotent: true, OpenWorld: true}, Timeout: readTimeout,
		Doc:  `Shows frames of a video with their times, its duration, format and tags.`,
		Also: []string{"video_analyze", "analyze_video", "watch_video"},
		Bare: "path",
		Keywords: "video film movie clip watch frame frames contact sheet thumbnail scene screenshot sound track " +
			"transcript mp4 webm mov mkv duration",
	}
}

const (
	sheetColumns, sheetRows = 4, 3
	sheetFrames             = sheetColumns * sheetRows
	minStep                 = time.Second / 4 // between the frames of a sheet
	cellWidth, cellHeight   = 384, 216
	maxFrames               = 6 // in full size
	sceneTime               = 3 * time.Minute
	exactLength             = 3 * time.Minute // of a video whose frames are shown exactly
	maxSentVideo            = 20 << 20
)

func (t readVideo) Prepare(_ context.Context, a readVideoArgs) (tool.Plan, error) {
	name, err := normalized("read_video", a.Path, a.URL)
	if err != nil {
		return tool.Plan{}, err
	}
	var times []time.Duration
	for given := range strings.SplitSeq(a.At, ",") {
		if strings.TrimSpace(given) == "" {
			continue
		}
		at, err := parseClock(given)
		if err != nil {
			return tool.Plan{}, err
		}
		times = append(times, at)
	}
	if len(times) > maxFrames {
		return tool.Plan{}, tool.Errorf(tool.Invalid, "there are %d times, the maximum is %d", len(times), maxFrames).
			Try("show some of them first")
	}
	plan := tool.Plan{Run: func(ctx context.Context) (tool.Result, error) { return t.read(ctx, name, times, a) }}
	switch {
	case a.Prompt != "" && t.Providers.Can(wire.Description):
		plan.Ask = t.Providers.Ask(wire.DescriptionRequest{To: wire.To{Model: a.Model}, Prompt: a.Prompt})
	case a.Transcript && t.usesProvider():
		plan.Ask = t.Providers.Ask(wire.TranscriptionRequest{})
	}
	return plan, nil
}

func (t readVideo) read(ctx context.Context, name string, times []time.Duration, a readVideoArgs) (tool.Result, error) {
	if err := t.needs("ffmpeg", "ffmpeg"); err != nil {
		return tool.Result{}, err
	}
	src, err := t.open(ctx, name, maxVideo)
	if err != nil {
		return tool.Result{}, err
	}
	defer func() { src.close() }()
	f, err := t.probe(ctx, src)
	if err != nil {
		return tool.Result{}, err
	}
	if !f.has("video") {
		return tool.Result{}, tool.Errorf(tool.Invalid, "%q has no picture",
			src.name).Try("read its sound with read_audio")
	}
	result := tool.Text(f.describe(src))
	if a.Prompt != "" {
		said, err := t.answer(ctx, src, a)
		if err != nil {
			return tool.Result{}, err
		}
		result = result.Add(tool.Part{Text: said})
	}
	shown, err := t.show(ctx, src, f, times, a)
	if err != nil {
		return tool.Result{}, err
	}
	result = result.Add(shown...)
	if !a.Transcript {
		return result, nil
	}
	if !f.has("audio") {
		return result.Add(tool.Part{Text: "[it has no sound]"}), nil
	}
	said, err := readAudio(t).hear(ctx, src, readAudioArgs{Language: a.Language}, f.duration)
	return result.Add(tool.Part{Text: said}), err
}

// answer has a provider answer a question about a video.
func (t readVideo) answer(ctx context.Context, src *source, a readVideoArgs) (string, error) {
	if !t.Providers.Can(wire.Description) {
		return "[no provider is set up that answers prompts: answer it yourself]", nil
	}
	data, err := src.content(maxSentVideo)
	if err != nil {
		return "", tool.AsError(err).Try("ask about frames of it with read_image, or cut it with a command")
	}
	kind := generated.TypeOf(data[:min(len(data), 1024)]).MIME
	return t.ask(ctx, a.Model, a.Prompt, wire.File{Name: src.base(), MIME: kind, Data: data})
}

// show returns the frames that a call asks for.
func (t readVideo) show(
	ctx context.Context, src *source, f facts, times []time.Duration, a readVideoArgs,
) ([]tool.Part, error) {
	for _, at := range times {
		if f.duration > 0 && at > f.duration {
			return nil, tool.Errorf(tool.Invalid, "the video ends at %s, there is no frame at %s", clock(f.duration),
				clock(at)).
				Try("choose an earlier time")
		}
	}
	if len(times) > 0 {
		var parts []tool.Part
		for _, at := range times {
			image, err := t.frame(ctx, src, at)
			if err != nil {
				return nil, err
			}
			parts = append(parts, tool.Part{Text: "[frame at " + clock(at) + "]"}, image)
		}
		return parts, nil
	}
	switch a.Frames {
	case "none":
		return nil, nil
	case "scenes":
		found, err := t.scenes(ctx, src)
		if err != nil {
			return nil, err
		}
		times = append([]time.Duration{0}, found...)
	default:
		times = spread(f.duration)
	}
	note := ""
	if len(times) > sheetFrames {
		note = fmt.Sprintf("; %d more scenes are not shown", len(times)-sheetFrames)
		times = times[:sheetFrames]
	}
	image, err := t.sheet(ctx, src, f.duration, times)
	if err != nil {
		return nil, err
	}
	var shown []string
	for _, at := range times {
		shown = append(shown, clock(at))
	}
	return []tool.Part{{Text: fmt.Sprintf("[frames row by row, %d in a row: %s%s]", sheetColumns,
		strings.Join(shown, " "), note)}, image}, nil
}

// spread returns times for the frames of a sheet, over the whole video.
func spread(length time.Duration) (times []time.Duration) {
	if length <= 0 {
		return []time.Duration{0}
	}
	n := min(sheetFrames, int(length/minStep)+1)
	for i := range n {
		times = append(times, length*time.Duration(i)/time.Duration(n))
	}
	return times
}

// frame returns one frame.
func (t readVideo) frame(ctx context.Context, src *source, at time.Duration) (tool.Part, error) {
	argv := slices.Concat([]string{"ffmpeg", "-nostdin", "-threads", "2", "-ss", seconds(at)}, safeInput(), []string{
		"-i", "file:" + src.local, "-map", "0:V:0", "-frames:v", "1", "-f", "image2pipe", "-c:v", "png", "pipe:1",
	})
	return t.draw(ctx, src, argv)
}

// sheet returns one picture of several frames. In a long video each is the key frame
// before its time, because the frames after it would have to be decoded as well.
func (t readVideo) sheet(
	ctx context.Context, src *source, length time.Duration, times []time.Duration,
) (tool.Part, error) {
	argv, seek := []string{"ffmpeg", "-nostdin"}, "-accurate_seek"
	if length > exactLength {
		seek = "-noaccurate_seek"
	}
	var filter strings.Builder
	for i, at := range times {
		argv = slices.Concat(argv, []string{"-threads", "1", seek, "-ss", seconds(at)}, safeInput(),
			[]string{"-i", "file:" + src.local})
		fmt.Fprintf(&filter, "[%d:V:0]trim=end_frame=1,setpts=PTS-STARTPTS,"+
			"scale=%d:%d:force_original_aspect_ratio=decrease,pad=%[2]d:%[3]d:-1:-1,setsar=1,format=yuvj420p[f%[1]d];",
			i, cellWidth, cellHeight)
	}
	for i := range times {
		fmt.Fprintf(&filter, "[f%d]", i)
	}
	columns := min(sheetColumns, len(times))
	fmt.Fprintf(&filter, "concat=n=%d:v=1:a=0,tile=%dx%d:padding=4[sheet]", len(times), columns,
		(len(times)+columns-1)/columns)
	argv = append(argv, "-filter_complex", filter.String(), "-map", "[sheet]", "-frames:v", "1", "-f", "image2pipe",
		"-c:v", "png", "pipe:1")
	return t.draw(ctx, src, argv)
}

// draw runs ffmpeg, and returns the picture that it writes.
func (t readVideo) draw(ctx context.Context, src *source, argv []string) (tool.Part, error) {
	var out bytes.Buffer
	if err := t.run(ctx, &out, job{argv: argv, files: []string{src.local}}); err != nil {
		return tool.Part{}, explain(src.name, err)
	}
	if out.Len() == 0 {
		return tool.Part{}, tool.Errorf(tool.Invalid, "%q has no frame there", src.name).Try("choose an earlier time")
	}
	p, err := t.load(ctx, src, drawn{at: bytes.NewReader(out.Bytes()), size: int64(out.Len())}, picture.MaxSide)
	return tool.Part{Data: p.Data, MIME: p.MIME}, err
}

// scenes returns the times of cuts in the video.
func (t readVideo) scenes(ctx context.Context, src *source) (times []time.Duration, err error) {
	var out bytes.Buffer
	argv := append(ffmpeg(src.local), "-map", "0:V:0", "-vf",
		`scale=160:-2,select=gt(scene\,0.3),metadata=print:file=-`,
		"-an", "-f", "null", "-")
	if err := t.run(ctx, &out, job{argv: argv, files: []string{src.local}, time: sceneTime}); err != nil {
		return nil, explain(src.name, err)
	}
	lines := bufio.NewScanner(&out)
	for lines.Scan() {
		_, at, found := strings.Cut(lines.Text(), "pts_time:")
		if !found {
			continue
		}
		if d, err := parseClock(at); err == nil {
			times = append(times, d)
		}
	}
	return times, lines.Err()
}
