package scrub_test

import (
	"fmt"

	"github.com/mcp-tools/mcp-tools/scrub"
)

// The output of a command has the token of a remote repository, and a value that only the
// operator knows to be secret. The server passes every result through a Scrubber before a
// model sees it.
func ExampleScrubber_Text() {
	s, err := scrub.New(scrub.Options{
		Extra: []scrub.Rule{{Name: "badge", Pattern: `badge-[0-9]{6}`}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	// The parts make the form of a token, so that this file contains none.
	token := "ghp" + "_" + "k3Vd9QpX2mBt7LwZ" + "c8Yh4NfR6sJa1GeUo5Ti"
	fmt.Println(s.Text("origin https://" + token + "@github.com/ann/notes (push)"))
	fmt.Println(s.Text("opened the door with badge-" + "204518"))
	fmt.Println(s.Text("3 files changed"))
	// Output:
	// origin https://[REDACTED]@github.com/ann/notes (push)
	// opened the door with [REDACTED]
	// 3 files changed
}
