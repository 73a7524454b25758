package telemetry

import (
	"io/fs"
	"os"
	"runtime"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func processSeries(t *testing.T, proc fs.FS) map[string]float64 {
	t.Helper()
	var p page
	p.process(proc)
	if len(p.text) == 0 {
		return map[string]float64{}
	}
	read, err := parsePage(string(p.text))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, p.text)
	}
	return read.series
}

func TestProcess(t *testing.T) {
	cpu, files := seriesKey("process_cpu_seconds_total"), seriesKey("process_open_fds")
	memory, started := seriesKey("process_resident_memory_bytes"), seriesKey("process_start_time_seconds")
	pages := float64(os.Getpagesize())
	with := func(name, text string) fstest.MapFS {
		proc := linux()
		proc[name] = &fstest.MapFile{Data: []byte(text)}
		return proc
	}
	tests := []struct {
		name string
		proc fs.FS
		want map[string]float64
	}{
		{"Linux", linux(), map[string]float64{cpu: 2.25, files: 3, memory: 407 * pages, started: 1700006740.5}},
		{"another system", fstest.MapFS{}, map[string]float64{}},
		{"nothing of the system", with("stat", "cpu 1\n"), map[string]float64{cpu: 2.25, files: 3, memory: 407 * pages}},
		{"odd time of boot", with("stat", "btime soon\n"), map[string]float64{cpu: 2.25, files: 3, memory: 407 * pages}},
		{"nothing of the process", with("self/stat", ""), map[string]float64{files: 3}},
		{"too little of the process", with("self/stat", "42 (a) R 1 2 3\n"), map[string]float64{files: 3}},
		{"words", with("self/stat", "42 (a) a b c d e f g h i j k l m n o p q r s t u v w\n"), map[string]float64{files: 3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, processSeries(t, tt.proc)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestThisProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems have no /proc like this")
	}
	got := processSeries(t, os.DirFS("/proc"))
	now := float64(time.Now().Unix())
	for name, bounds := range map[string][2]float64{
		"process_cpu_seconds_total":     {0, 3600},
		"process_open_fds":              {3, 1e6},
		"process_resident_memory_bytes": {1 << 20, 1 << 40},
		"process_start_time_seconds":    {now - 3600, now + 5}, // the system clock may have been changed
	} {
		value, there := got[seriesKey(name)]
		if !there || value < bounds[0] || value > bounds[1] {
			t.Errorf("%s is %v (there: %t), want a number in %v", name, value, there, bounds)
		}
	}
}
