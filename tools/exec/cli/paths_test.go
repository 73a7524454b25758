package cli

import "testing"

// TestPaths checks that a program which can send files cannot send its own credentials.
func TestPaths(t *testing.T) {
	from := reach{"/workspace/app", []string{"/home/op/.local/share/mcp-tools", "/data"}}
	p := program{}
	for _, c := range []struct {
		args []string
		good bool
	}{
		{[]string{"s3", "cp", "/", "s3://b"}, false},
		{[]string{"s3", "sync", "//", "s3://b"}, false},
		{[]string{"s3", "sync", "/./", "s3://b"}, false},
		{[]string{"apply", "-f", "/"}, false},
		{[]string{"apply", "--filename=/"}, false},
		{[]string{"put", "file:///"}, false},
		{[]string{"put", "fileb:///"}, false},
		{[]string{"put", "@/"}, false},
		{[]string{"sync", "../.."}, false},
		{[]string{"sync", "a/../../.."}, false},
		{[]string{"sync", "/home"}, false},
		{[]string{"sync", "/home/op/"}, false},
		{[]string{"cp", "/home/op/.local/share/mcp-tools/commands/run-1/apart-2/x/KEY"}, false},
		{[]string{"cp", "file:///data/commands"}, false},
		{[]string{"cp", "--body", "/data"}, false},
		{[]string{"cp", "../../data/x"}, false},
		{[]string{"sync", "/roots"}, false},
		{[]string{"sync", "../../roots"}, false},
		{[]string{"cp", "/workspace/app/x", "s3://b/data/x"}, true},
		{[]string{"cp", "../x", "s3://b/"}, true},
		{[]string{"cp", "/roots/shared/x"}, true},
		{[]string{"cp", "/homes/x", "/database"}, true},
		{[]string{"list", "--delimiter", "/", "--path=/", "--prefix", "/"}, true},
		{[]string{"api", "/repos/o/r", "--jq", `.x | split("/")`}, true},
		{[]string{"cp", "data/x", "./home/y"}, true},
		{[]string{"view", "https://github.com/"}, true},
	} {
		if err := p.checkPaths(c.args, from); (err == nil) != c.good {
			t.Errorf("%q: %v", c.args, err)
		}
	}
}
