package policy_test

import (
	"fmt"

	"github.com/mcp-tools/mcp-tools/policy"
)

// The rules of the operator are compiled once, for the tools of the server. Then the policy
// decides about each call, with the risk of that call.
func ExampleCompile() {
	catalogue := policy.NewCatalogue([]policy.Tool{
		{Name: "read_file", Group: "fs", Risk: policy.Reads},
		{Name: "write_file", Group: "fs", Risk: policy.Destroys},
		{Name: "exec", Group: "runtime", Risk: policy.Runs, Rates: true},
	})
	p, problems := policy.Compile(policy.Rules{
		Autonomy: policy.Supervised,
		Agents:   map[string]policy.AgentRules{"researcher": {Deny: policy.List{"write_file"}}},
	}, catalogue)
	for _, problem := range problems {
		fmt.Println(problem)
	}
	if p == nil { // a problem is more than a warning
		return
	}
	ann := policy.Subject{Agent: "ann"}
	fmt.Println("read_file:", p.Verdict(ann, "read_file"))
	fmt.Println("exec:", p.Verdict(ann, "exec"))
	fmt.Println("exec, a call that only reads:", p.For(ann, "exec", policy.Reads))
	fmt.Println("write_file for researcher:", p.Verdict(policy.Subject{Agent: "researcher"}, "write_file"))
	// Output:
	// read_file: allow
	// exec: ask
	// exec, a call that only reads: allow
	// write_file for researcher: deny
}
