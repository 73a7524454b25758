package media

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// containers are the formats that ffmpeg may read. Formats that name other files, such as
// playlists, are not among them.
const containers = "aac,ac3,aiff,amr,ape,asf,au,avi,caf,dts,eac3,flac,flv,gif,h264,hevc,matroska,webm,mov,mp4,m4a," +
	"3gp,mp3,mpeg,mpegts,mpegvideo,ogg,rm,tta,voc,w64,wav,wv,ivf,av1,obu,mxf,nut"

// safeInput are the options of ffmpeg and ffprobe before an input.
func safeInput() []string {
	return []string{"-v", "error", "-protocol_whitelist", "file", "-format_whitelist", containers}
}

// ffmpeg returns the beginning of a command line that reads a file.
func ffmpeg(file string) []string {
	return slices.Concat([]string{"ffmpeg", "-nostdin", "-threads", "2"}, safeInput(), []string{"-i", "file:" + file})
}

// Facts are the facts that a file with sound or video has about itself.
type facts struct {
	container string
	duration  time.Duration
	streams   []stream
	tags      []string // as name: value
}

type stream struct {
	kind          string // audio, video or subtitle
	text          string
	width, height int
}

// has reports whether there is a stream of a kind.
func (f facts) has(kind string) bool {
	return slices.ContainsFunc(f.streams, func(s stream) bool { return s.kind == kind })
}

// probe returns the facts of a file.
func (s studio) probe(ctx context.Context, src *source) (facts, error) {
	if err := s.needs("ffprobe", "ffmpeg"); err != nil {
		return facts{}, err
	}
	file, err := src.file()
	if err != nil {
		return facts{}, err
	}
	var out bytes.Buffer
	argv := slices.Concat([]string{"ffprobe"}, safeInput(),
		[]string{"-print_format", "json", "-show_format", "-show_streams", "file:" + file})
	if err := s.run(ctx, &out, job{argv: argv, files: []string{file}, max: maxProbe}); err != nil {
		return facts{}, explain(src.name, err)
	}
	return readProbe(out.Bytes())
}

// maxProbe is the size of the longest description of a file, in bytes.
const maxProbe = 1 << 20

// A probed is the output of ffprobe.
type probed struct {
	Format struct {
		Name     string            `json:"format_long_name"`
		Duration string            `json:"duration"`
		Tags     map[string]string `json:"tags"`
	} `json:"format"`
	Streams []struct {
		Kind        string            `json:"codec_type"`
		Codec       string            `json:"codec_name"`
		Width       int               `json:"width"`
		Height      int               `json:"height"`
		Rate        string            `json:"avg_frame_rate"`
		SampleRate  string            `json:"sample_rate"`
		Channels    int               `json:"channels"`
		BitRate     string            `json:"bit_rate"`
		Tags        map[string]string `json:"tags"`
		Disposition map[string]int    `json:"disposition"`
	} `json:"streams"`
}

func readProbe(data []byte) (f facts, err error) {
	var p probed
	if err := json.Unmarshal(data, &p); err != nil {
		return f, fmt.Errorf("reading what ffprobe printed: %w", err)
	}
	f.container = p.Format.Name
	if seconds, err := strconv.ParseFloat(p.Format.Duration, 64); err == nil && seconds >= 0 && seconds < 1e7 {
		f.duration = time.Duration(seconds * float64(time.Second))
	}
	for _, s := range p.Streams {
		about := []string{s.Codec}
		switch s.Kind {
		case "video":
			if s.Disposition["attached_pic"] == 1 {
				s.Kind = "cover"
			}
			about = append(about, fmt.Sprintf("%dx%d", s.Width, s.Height))
			if rate := rateOf(s.Rate); rate > 0 {
				about = append(about, strconv.FormatFloat(math.Round(rate*100)/100, 'g', -1, 64)+" frames/s")
			}
		case "audio":
			if hertz, err := strconv.Atoi(s.SampleRate); err == nil {
				about = append(about, strconv.FormatFloat(float64(hertz)/1000, 'g', -1, 64)+" kHz")
			}
			about = append(about, text.Plural(s.Channels, "channel"))
		}
		if bits, err := strconv.Atoi(s.BitRate); err == nil && bits >= 1000 {
			about = append(about, fmt.Sprintf("%d kbit/s", bits/1000))
		}
		if language := s.Tags["language"]; language != "" && language != "und" {
			about = append(about, text.Clip(language, 20))
		}
		f.streams = append(f.streams, stream{s.Kind, s.Kind + " " + strings.Join(about, " "), s.Width, s.Height})
	}
	for name, value := range p.Format.Tags {
		switch strings.ToLower(name) {
		case "title", "artist", "album", "album_artist", "composer", "date", "creation_time", "genre", "track",
			"comment",
			"description", "copyright", "show", "publisher":
			value = strings.Join(strings.Fields(value), " ")
			f.tags = append(f.tags, strings.ToLower(name)+": "+text.Clip(value, 300))
		}
	}
	slices.Sort(f.tags)
	return f, nil
}

// rateOf reads a rate such as 30000/1001.
func rateOf(rate string) float64 {
	over, under, _ := strings.Cut(rate, "/")
	a, _ := strconv.ParseFloat(over, 64)
	b, err := strconv.ParseFloat(under, 64)
	if err != nil || b == 0 {
		return 0
	}
	return a / b
}

// line describes the file in one line.
func (f facts) line(src *source) string {
	about := []string{f.container}
	if f.duration > 0 {
		about = append(about, clock(f.duration))
	}
	for i, s := range f.streams {
		if i == 8 {
			about = append(about, fmt.Sprintf("%d more streams", len(f.streams)-i))
			break
		}
		about = append(about, s.text)
	}
	return fmt.Sprintf("[%s: %s, %s]", src.name, strings.Join(about, ", "), text.Bytes(src.size))
}

// describe returns the facts as text.
func (f facts) describe(src *source) string {
	if len(f.tags) == 0 {
		return f.line(src)
	}
	return f.line(src) + "\n" + src.quote("tags", strings.Join(f.tags, "\n"))
}

// clock returns a time in a recording to a tenth of a second, such as 1:02:03 or 0:07.5.
func clock(d time.Duration) string {
	d = d.Round(time.Second / 10)
	if tenths := d % time.Second / (time.Second / 10); tenths > 0 {
		return fmt.Sprintf("%s.%d", clock(d.Truncate(time.Second)), tenths)
	}
	h, m, s := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	if h > 0 {
		return fmt.Sprintf("%d:%02d:%02d", h, m, s)
	}
	return fmt.Sprintf("%d:%02d", m, s)
}

// parseClock reads 1:02:03, 2:03, 123 and 12.5.
func parseClock(given string) (time.Duration, error) {
	seconds := 0.0
	parts := strings.Split(strings.TrimSuffix(strings.TrimSpace(given), "s"), ":")
	for _, part := range parts {
		v, err := strconv.ParseFloat(part, 64)
		if err != nil || v < 0 || v > 1e6 || math.IsNaN(v) || len(parts) > 3 {
			return 0, tool.Errorf(tool.Invalid, "%q is not a time", given).Try("write 1:30, 1:02:03 or 12.5")
		}
		seconds = seconds*60 + v
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// seconds returns a time as ffmpeg reads it.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }

// speechTrack writes the sound of a file as WAV, 16 kHz with one channel: all transcribers read
// it. The caller removes the file.
func (s studio) speechTrack(ctx context.Context, src *source) (*os.File, error) {
	if err := s.needs("ffmpeg", "ffmpeg"); err != nil {
		return nil, err
	}
	file, err := src.file()
	if err != nil {
		return nil, err
	}
	out, err := private.TempFile(s.Scratch)
	if err != nil {
		return nil, err
	}
	argv := append(ffmpeg(file), "-map", "0:a:0", "-vn", "-ac", "1", "-ar", "16000", "-f", "wav", "pipe:1")
	if err := s.run(ctx, out, job{argv: argv, files: []string{file}, max: maxSound,
		time: readTimeout}); err != nil {
		private.Discard(out)
		return nil, explain(src.name, err)
	}
	if err := setLength(out); err != nil {
		private.Discard(out)
		return nil, err
	}
	return out, nil
}

// setLength corrects the lengths in a WAV file.
func setLength(wav *os.File) error {
	head := make([]byte, wavHead)
	n, err := wav.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	info, err := wav.Stat()
	if err != nil {
		return err
	}
	_, err = wav.WriteAt(lengthened(head[:n], info.Size()), 0)
	return err
}
