package cli

import (
	"strings"
	"testing"
)

// judged says what becomes of a command for a program with its preset.
func judged(t *testing.T, p Program, command string) verdict {
	t.Helper()
	argv, err := Parse(command)
	if err != nil {
		return verdict{err: err}
	}
	p.Name = argv[0]
	if p.Path == "" {
		p.Path = "/usr/bin/" + argv[0]
	}
	if p.Preset == "" && len(p.Allow) == 0 {
		p.Preset = argv[0]
	}
	made, err := compile(p)
	if err != nil {
		t.Fatal(err)
	}
	if v := made.judge(argv[1:]); v.err != nil {
		return v
	} else if err := made.checkPaths(argv[1:], reach{"/workspace/app", []string{"/var/lib/mcp-tools"}}); err != nil {
		return verdict{err: err}
	} else {
		return v
	}
}

func TestEveryPatternOfThePresetsIsRead(t *testing.T) {
	for name, p := range presets() {
		lists := [][]string{p.reads, p.changes, p.deletes}
		for _, r := range append(p.refused, p.hints...) {
			if r.why == "" {
				t.Errorf("%s: %q is refused for no reason", name, r.patterns)
			}
			lists = append(lists, r.patterns)
		}
		for _, list := range lists {
			for _, line := range list {
				if r, err := parseRule(line, ""); err != nil {
					t.Errorf("%s: %v", name, err)
				} else if r.String() != line {
					t.Errorf("%s: %q was read as %q", name, line, r)
				}
			}
		}
	}
}

// ordinary commands, by what they do.
const readingCommands = `
gh pr list -R o/r
gh pr list --repo o/r --state open --json number,title --jq '.[] | select(.number > 5) | .title'
gh pr view 12 -R o/r --comments
gh pr view https://github.com/o/r/pull/12
gh pr diff 12 -R o/r --name-only
gh pr checks 12 -R o/r
gh pr status
gh issue list -R o/r -L 50 -l bug
gh issue view 3 -R o/r --json body -q .body
gh run list -R o/r --workflow ci.yml
gh run view 991 -R o/r --log-failed
gh release list -R o/r
gh repo view o/r
gh repo list o --limit 100
gh search issues "memory leak" --repo o/r
gh api repos/o/r/pulls
gh api repos/o/r/contents/env/prod.yml --jq .env.name
gh api 'repos/o/r/issues?per_page=5' --paginate
gh api graphql -f query='query($n:Int!){repository(owner:"o",name:"r"){issues(first:$n){nodes{title}}}}' -F n=3
gh api -X GET search/issues -f q='repo:o/r is:open'
gh api repos/o/r -H 'Accept: application/vnd.github.raw+json'
gh --version
aws s3 ls s3://bucket/prefix/
aws ec2 describe-instances --filters Name=tag:env,Values=prod --query 'Reservations[].Instances[].InstanceId'
aws --region eu-west-1 ec2 describe-vpcs
aws sts get-caller-identity
aws logs filter-log-events --log-group-name /aws/lambda/f --filter-pattern ERROR
aws logs tail /aws/lambda/f --since 1h
aws logs describe-log-streams --log-group-name /dev/app/proc
gh api repos/o/r/contents/proc/README.md
gh api user --jq 'select(.name=="env") | .env'
aws cloudformation describe-stacks --stack-name s --output json
aws lambda list-functions --no-cli-pager
aws dynamodb query --table-name t --key-condition-expression 'id = :v' --expression-attribute-values file://values.json
aws secretsmanager list-secrets
aws ecs list-services --cluster c
aws sqs get-queue-attributes --queue-url https://sqs.eu-west-1.amazonaws.com/1/q --attribute-names All
kubectl get pods
kubectl -n prod get pods -o wide
kubectl get deploy/web -o yaml -n ns
kubectl get pods -A -l app=web --field-selector status.phase=Running
kubectl get pods -o jsonpath='{.items[*].metadata.name}'
kubectl describe node worker-1
kubectl get secrets -n prod
kubectl get secret -o name
kubectl describe secret db
kubectl logs -f deploy/web -c app --tail 100
kubectl logs web-1 -p
kubectl top pods
kubectl rollout status deployment/web
kubectl explain deployment.spec
kubectl config current-context
kubectl config view
kubectl auth can-i list pods
kubectl diff -f k8s/
kubectl version --client
terraform version
terraform output
terraform state list
terraform workspace list
gcloud projects list
gcloud compute instances list --project p --format=json
gcloud --project p compute instances describe vm --zone us-central1-a
gcloud beta run services list
gcloud container clusters list --filter 'status=RUNNING'
gcloud logging read 'resource.type="gce_instance" AND severity>=ERROR' --limit 10
gcloud secrets list
gcloud storage ls gs://bucket
gcloud builds list --verbosity=error
`

const changingCommands = `
gh pr create -R o/r --head fix --title "Fix: env vars | pipes" --body 'Closes #1; see https://example.com/x and /proc docs'
gh pr comment 3 -R o/r --body "- item one"
gh pr merge 5 -R o/r --squash
gh pr review 5 --approve -R o/r
gh issue create -R o/r -t Bug -b "it uses -v and --debug"
gh run rerun 5 -R o/r --failed
gh workflow run ci.yml -R o/r -f env=prod
gh release create v1 -R o/r --notes 'first' dist/app.tar.gz
gh api repos/o/r/issues/1/comments -f body='delete this?'
gh api repos/o/r/issues -F body=@notes.md -f title=x
gh api -X PATCH repos/o/r/issues/1 -f state=closed
gh api graphql -f query='mutation{addComment(input:{subjectId:"x",body:"hi"}){clientMutationId}}'
aws s3 cp dist/ s3://bucket/ --recursive
aws s3 sync ./site s3://bucket
aws ec2 start-instances --instance-ids i-1 i-2
aws lambda update-function-code --function-name f --zip-file fileb://build/f.zip
aws sns publish --topic-arn a --message 'hello $USER'
aws cloudformation deploy --template-file t.yml --stack-name s
aws s3api get-object --bucket b --key k out.bin
kubectl apply -f k8s/deployment.yaml
kubectl apply -f ../k8s/service.yaml -n dev
kubectl scale deployment web --replicas=3
kubectl rollout restart deployment/web
kubectl set image deployment/web app=img:2
kubectl create configmap c --from-file=config.yaml
kubectl create deployment x --image=nginx --dry-run=client -o yaml
kubectl label pod x a=b
terraform plan -out=tf.plan -var 'env=prod'
terraform init -upgrade
terraform fmt -check -diff
terraform apply -auto-approve
terraform apply tf.plan
terraform validate -json
terraform plan -var-file=envs/prod.tfvars -no-color
gcloud run deploy svc --image gcr.io/p/i --region us-central1
gcloud builds submit --config cloudbuild.yaml .
gcloud services enable run.googleapis.com
gcloud storage cp dist/app gs://bucket/
`

const deletingCommands = `
gh release delete v1 -R o/r --yes
gh label delete old -R o/r
aws s3 rm s3://bucket/key
aws s3 sync . s3://bucket --delete
aws cloudformation delete-stack --stack-name s
kubectl delete pod web-1 -n dev
kubectl delete pod ns
kubectl delete -f k8s/old.yaml
kubectl delete deployment/web service/web
terraform state rm aws_instance.x
gcloud compute instances delete vm --quiet --zone z
`

func commands(list string) []string { return strings.Split(strings.TrimSpace(list), "\n") }

func TestOrdinaryCommandsRun(t *testing.T) {
	n := 0
	for want, list := range map[effect]string{reads: readingCommands, changes: changingCommands,
		deletes: deletingCommands} {
		for _, command := range commands(list) {
			n++
			if v := judged(t, Program{}, command); v.err != nil || v.effect != want {
				t.Errorf("%s: effect %d, %v; want %d", command, v.effect, v.err, want)
			} else if v.why == "" {
				t.Errorf("%s: no reason", command)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d commands", n)
	}
}

// TestUnknownFlags gives commands that read a flag which leads elsewhere, or which
// the preset does not know.
func TestUnknownFlags(t *testing.T) {
	for _, command := range []string{
		"gcloud compute instances list --universe-domain evil.example",
		"gcloud projects list --universe-domain=evil.example",
		"gcloud projects list --univ evil.example", "kubectl get pods --proxy-url http://evil.example",
		"aws s3 ls --region evil.example/#", "aws ec2 describe-instances --region=evil.example",
	} {
		if v := judged(t, Program{}, command); v.err == nil {
			t.Errorf("%s: effect %d", command, v.effect)
		}
	}
	for _, command := range []string{
		"gcloud compute instances list --new-flag x", "gh pr list -R a/b --new-flag=x", "kubectl get pods --new-flag x",
		"aws ec2 describe-instances --new-flag x",
	} {
		if v := judged(t, Program{}, command); v.err != nil || v.effect != changes ||
			!strings.Contains(v.why, "new-flag") {
			t.Errorf("%s: effect %d, %q, %v", command, v.effect, v.why, v.err)
		}
	}
}

// TestGHInRepository runs gh in a repository that has a remote.
func TestGHInRepository(t *testing.T) {
	for _, c := range []struct{ command, address, want string }{
		{"pr list", "https://github.com/o/r.git", "pr list --repo o/r"},
		{"pr list", "git@github.com:o/r.git", "pr list --repo o/r"},
		{"issue view 3", "ssh://git@github.com/o/r", "issue view 3 --repo o/r"},
		{"pr create --title x", "https://github.com/o/r", "pr create --title x --repo o/r --head topic"},
		{"pr create --title x --head y", "https://github.com/o/r", "pr create --title x --head y --repo o/r"},
		{"pr view", "https://github.com/o/r", "pr view topic --repo o/r"},
		{"pr view 7", "https://github.com/o/r", "pr view 7 --repo o/r"},
		{"pr list -R a/b", "https://github.com/o/r", "pr list -R a/b"},
		{"pr list", "https://ghe.example/o/r", "pr list --repo ghe.example/o/r"},
		{"api repos/o/r", "https://github.com/o/r", "api repos/o/r"},
		{"pr list", "/srv/git/r", "pr list"}, {"pr list", "", "pr list"},
		{"auth token", "https://github.com/o/r", "auth token"},
	} {
		args := strings.Fields(c.command)
		got := strings.Join(ghInRepository(args, presets()["gh"].read(args), c.address, "topic"), " ")
		if got != c.want {
			t.Errorf("gh %s in %q: %s", c.command, c.address, got)
		}
	}
	if v := judged(t, Program{}, "gh pr list --repo ghe.example/o/r"); v.err == nil {
		t.Error("gh reaches a host that the token is not for")
	}
}
