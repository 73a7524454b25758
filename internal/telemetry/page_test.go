package telemetry

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A parsed is a page parsed by the strict rules of the format.
type parsed struct {
	types  map[string]string  // by family
	series map[string]float64 // by name and labels, as seriesKey writes them
}

// A sample is one line of a page.
type sample struct {
	name   string
	labels [][2]string // name and value, decoded
	value  float64
}

func seriesKey(name string, labels ...[2]string) string { return fmt.Sprintf("%s%q", name, labels) }

var (
	helpLine = regexp.MustCompile(`^# HELP ([a-z_]+) (\S[^\\]*)$`)
	typeLine = regexp.MustCompile(`^# TYPE ([a-z_]+) (counter|gauge|histogram)$`)
	nameLine = regexp.MustCompile(`^([a-z_]+)(\{.*\})? ([^ ]+)$`)
	oneLabel = regexp.MustCompile(`^([a-z]+)="((?:[^"\\]|\\["\\n])*)"(,|$)`)
)

// parsePage parses a page strictly: help before type before samples, families sorted, contiguous
// and unique, series unique, buckets ascending to the count.
func parsePage(page string) (parsed, error) {
	p := parsed{types: map[string]string{}, series: map[string]float64{}}
	text, ended := strings.CutSuffix(page, "\n")
	if !ended {
		return p, fmt.Errorf("the last line does not end")
	}
	var family, before string
	var samples []sample
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if help := helpLine.FindStringSubmatch(lines[i]); help != nil {
			if err := p.checkFamily(family, samples); err != nil {
				return p, err
			}
			before, family, samples = family, help[1], nil
			if family <= before {
				return p, fmt.Errorf("%s comes after %s", family, before)
			}
			i++
			kind := typeLine.FindStringSubmatch(strings.Join(lines[i:min(i+1, len(lines))], ""))
			if kind == nil || kind[1] != family {
				return p, fmt.Errorf("%s has no type after its help", family)
			}
			p.types[family] = kind[2]
			continue
		}
		s, err := parseSample(lines[i])
		if err != nil {
			return p, err
		}
		key := seriesKey(s.name, s.labels...)
		if _, twice := p.series[key]; twice {
			return p, fmt.Errorf("%s is there twice", key)
		}
		p.series[key] = s.value
		samples = append(samples, s)
	}
	return p, p.checkFamily(family, samples)
}

func parseSample(line string) (sample, error) {
	parts := nameLine.FindStringSubmatch(line)
	if parts == nil {
		return sample{}, fmt.Errorf("not a sample: %q", line)
	}
	value, err := strconv.ParseFloat(parts[3], 64)
	if err != nil || math.IsNaN(value) || value < 0 {
		return sample{}, fmt.Errorf("not a number in %q", line)
	}
	s := sample{name: parts[1], value: value}
	if parts[2] == "" {
		return s, nil
	}
	rest := parts[2][1 : len(parts[2])-1]
	for rest != "" {
		label := oneLabel.FindStringSubmatch(rest)
		if label == nil {
			return sample{}, fmt.Errorf("not a label: %q", rest)
		}
		decoded := strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(label[2])
		s.labels = append(s.labels, [2]string{label[1], decoded})
		rest = rest[len(label[0]):]
	}
	return s, nil
}

// checkFamily checks all samples of one family.
func (p parsed) checkFamily(family string, samples []sample) error {
	if p.types[family] == "histogram" {
		return checkHistograms(family, samples)
	}
	for _, s := range samples {
		if s.name != family {
			return fmt.Errorf("%s is among the samples of %q", s.name, family)
		}
	}
	return nil
}

// checkHistograms checks that each set of labels has buckets, sum and count.
func checkHistograms(family string, samples []sample) error {
	for len(samples) > 0 {
		end := slices.IndexFunc(samples, func(s sample) bool { return s.name == family+"_count" })
		if end < 2 || samples[end-1].name != family+"_sum" {
			return fmt.Errorf("%s has no sum and count behind its buckets", family)
		}
		labels, count := samples[end].labels, samples[end].value
		bound, below := math.Inf(-1), 0.0
		for _, s := range samples[:end-1] {
			own := len(s.labels) - 1
			if s.name != family+"_bucket" || own < 0 || s.labels[own][0] != "le" || !slices.Equal(s.labels[:own], labels) {
				return fmt.Errorf("%s%q is not a bucket of %s%q", s.name, s.labels, family, labels)
			}
			le, err := strconv.ParseFloat(s.labels[own][1], 64)
			if err != nil || le <= bound || s.value < below {
				return fmt.Errorf("%s%q does not rise", s.name, s.labels)
			}
			bound, below = le, s.value
		}
		if !math.IsInf(bound, 1) || below != count {
			return fmt.Errorf("the buckets of %s%q end at %v with %v, want +Inf with %v", family, labels, bound, below, count)
		}
		samples = samples[end+1:]
	}
	return nil
}
