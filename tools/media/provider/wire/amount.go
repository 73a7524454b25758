package wire

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// Unknown parts of a request are assumed to be long.
const (
	unknownSeconds = 600 // of a recording
	longestSound   = 30
	usualMusic     = 180
	usualVideo     = 10
)

// amount returns how much of a unit there is.
func amount(u Unit, pictures int, seconds float64, text string) float64 {
	switch u {
	case Picture:
		return float64(pictures)
	case Second:
		return seconds
	case Minute:
		return seconds / 60
	case Thousand:
		return float64(utf8.RuneCountInString(text)) / 1000
	}
	return 1
}

// orElse returns n, or other if n is not positive.
func orElse(n, other float64) float64 {
	if n > 0 {
		return n
	}
	return other
}

// Size returns the width and height of a picture with an aspect such as 16:9, with about
// so many pixels, as multiples of step. A size such as 1024x768 counts instead.
func Size(aspect, size string, pixels, step int) (width, height int) {
	var w, h int
	if n, err := fmt.Sscanf(size, "%dx%d", &w, &h); err == nil && n == 2 && w > 0 && h > 0 {
		return round(float64(w), step), round(float64(h), step)
	}
	if n, err := fmt.Sscanf(aspect, "%d:%d", &w, &h); err != nil || n != 2 || w <= 0 || h <= 0 {
		w, h = 1, 1
	}
	unit := math.Sqrt(float64(pixels) / float64(w) / float64(h))
	return round(unit*float64(w), step), round(unit*float64(h), step)
}

func round(n float64, step int) int { return max(int(n/float64(step)+0.5)*step, step) }

// Pixels returns how many pixels a size such as 2K has, by its name, or else other.
func Pixels(size string, other int) int {
	switch strings.ToUpper(size) {
	case "1K":
		return 1 << 20
	case "2K":
		return 1 << 22
	case "4K":
		return 3840 * 2160
	}
	return other
}

// Task returns Photo.
func (PhotoRequest) Task() Task { return Photo }

// Amount counts the pictures.
func (r PhotoRequest) Amount(u Unit) float64 { return amount(u, max(r.Count, 1), 0, r.Prompt) }

// Task returns Speech.
func (SpeechRequest) Task() Task { return Speech }

// Amount counts the characters. A second of speech has about 15.
func (r SpeechRequest) Amount(u Unit) float64 {
	return amount(u, 0, float64(utf8.RuneCountInString(r.Text))/15, r.Text)
}

// Task returns Transcription.
func (TranscriptionRequest) Task() Task { return Transcription }

// Amount counts the length of the recording.
func (r TranscriptionRequest) Amount(u Unit) float64 {
	return amount(u, 0, orElse(float64(r.Seconds), unknownSeconds), r.Hint)
}

// Task returns Description.
func (DescriptionRequest) Task() Task { return Description }

// Amount counts the files.
func (r DescriptionRequest) Amount(u Unit) float64 {
	return amount(u, len(r.Files), unknownSeconds, r.Prompt)
}

// Task returns Sound.
func (SoundRequest) Task() Task { return Sound }

// Amount counts the length.
func (r SoundRequest) Amount(u Unit) float64 {
	return amount(u, 0, orElse(r.Seconds, longestSound), r.Prompt)
}

// Task returns Music.
func (MusicRequest) Task() Task { return Music }

// Amount counts the length.
func (r MusicRequest) Amount(u Unit) float64 {
	return amount(u, 0, orElse(float64(r.Seconds), usualMusic), r.Prompt)
}

// Task returns Video.
func (VideoRequest) Task() Task { return Video }

// Amount counts the length.
func (r VideoRequest) Amount(u Unit) float64 {
	return amount(u, 0, orElse(float64(r.Seconds), usualVideo), r.Prompt)
}
