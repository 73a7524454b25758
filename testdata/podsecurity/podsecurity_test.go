// Package podsecurity has the pods of sandboxes checked by the admission controller of Kubernetes. It is a module of its own, so that
// the program does not depend on the library.
package podsecurity

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// TestRestricted reads the pods that the tests of package kubernetes have written.
func TestRestricted(t *testing.T) {
	checks, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	files, err := filepath.Glob("../../internal/sandbox/kubernetes/testdata/*.json")
	if err != nil || len(files) < 2 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var pod corev1.Pod
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&pod); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if r := policy.AggregateCheckResults(checks.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec)); !r.Allowed {
			t.Errorf("%s: %s: %s", path, r.ForbiddenReason(), r.ForbiddenDetail())
		}
		// The check finds what it should.
		for word, instead := range map[string]string{
			`"RuntimeDefault"`: `"Unconfined"`, `"ALL"`: `"KILL"`, `"allowPrivilegeEscalation": false`: `"allowPrivilegeEscalation": true`,
			`"runAsNonRoot": true`: `"runAsNonRoot": false`,
		} {
			var bad corev1.Pod
			if err := json.Unmarshal(bytes.ReplaceAll(text, []byte(word), []byte(instead)), &bad); err != nil {
				t.Fatal(err)
			}
			if policy.AggregateCheckResults(checks.EvaluatePod(restricted, &bad.ObjectMeta, &bad.Spec)).Allowed {
				t.Errorf("%s: %s is admitted", path, instead)
			}
		}
	}
}
