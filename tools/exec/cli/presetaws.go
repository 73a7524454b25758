package cli

import (
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// awsServices are those whose describe, list and get only tell. Others are
// written out below, or for the operator to allow.
const awsServices = "acm|apigateway|apigatewayv2|application-autoscaling|athena|autoscaling|backup|batch|ce|cloudformation|cloudfront|cloudtrail|cloudwatch" +
	"|codebuild|codedeploy|codepipeline|configservice|dynamodb|ec2|ecr|ecs|efs|eks|elasticache|elasticbeanstalk|elb|elbv2|events|firehose|fsx|glue" +
	"|health|kinesis|lambda|logs|opensearch|pricing|rds|redshift|resource-groups|resourcegroupstaggingapi|route53|s3api|scheduler|service-quotas" +
	"|servicediscovery|sns|sqs|stepfunctions|synthetics|wafv2|xray"

// aws is the command line of Amazon's cloud. It takes the beginning of a flag
// for the whole.
func aws() preset {
	return preset{
		grammar: grammar{
			values: "--region --output --query --color --cli-read-timeout --cli-connect-timeout",
			plain:  "--no-paginate --no-cli-pager --no-cli-auto-prompt",
		},
		reads: awsServices + ` describe-*|list-*|get-*|search-*|filter-*|lookup-*|head-*|query|scan|batch-get-*
			s3 ls
			logs tail
			sts get-caller-identity
			secretsmanager list-secrets|describe-secret
			ssm describe-*|list-*
			kms list-*|describe-key
			ec2|ecs|eks|rds|cloudformation wait
			help
			* help
		`,
		changes: awsServices + ` create-*|update-*|put-*|modify-*|start-*|tag-*|untag-*|register-*|enable-*|associate-*|attach-*|run-*|set-*|copy-*|publish|publish-*
			s3 cp|mv|sync|mb
			s3api get-object|get-object-torrent|upload-part|complete-multipart-upload
			apigateway|apigatewayv2 get-export|get-sdk|export-api
			cloudformation deploy|package|validate-template|execute-change-set|detect-*
			ecs run-task|deploy
			ec2 allocate-*|authorize-*|import-*
			lambda invoke|add-permission
			sns publish|subscribe|confirm-subscription
			sqs send-*|receive-message|change-message-visibility
			ecr batch-check-layer-availability|initiate-layer-upload
		`,
		deletes: awsServices + ` delete-*|remove-*|batch-delete-*|deregister-*|disable-*|disassociate-*|detach-*|stop-*|reboot-*|release-*|revoke-*|cancel-*|purge-*|reset-*|restore-*|batch-write-*|transact-write-*
			s3 rm|rb
			s3 sync --delete
			cloudformation cancel-update-stack|rollback-stack
		`,
		refused: []refusal{
			{"that shows or changes how aws logs in", "configure\nsso|sso-oidc|signin\nlogin|logout"},
			{"that makes credentials", awsMakers},
			{"that changes who may do what", "iam\norganizations|account\nidentitystore|sso-admin\naccessanalyzer\nram"},
			{"that opens a way into a machine", "ssm start-session|resume-session|send-command|start-automation-execution\necs execute-command\nec2-instance-connect\ncloudshell\nec2 get-password-data|send-diagnostic-interrupt\nssh"},
			{"that shows secrets", "secretsmanager get-*|batch-get-*\nssm get-parameter*\n--with-decryption\nkms decrypt|re-encrypt|generate-*\nec2 get-launch-template-data\nlambda get-function|get-function-configuration\n" +
				"apigateway get-api-keys|get-api-key --include-values|--include-value\nrds download-db-log-file-portion"},
			{"that ends machines for good", "ec2 terminate-*\nrds delete-db-cluster*|delete-db-instance* --skip-final-snapshot\nkms schedule-*|disable-*|delete-*"},
			{"that empties what it names", "s3 rm --recursive\ns3 rb --force\ns3 mv --recursive"},
			{"it uses another account, or another server than the configured ones", "--profile\n--endpoint-url\n--no-verify-ssl\n--ca-bundle\n--no-sign-request"},
			{"it writes down requests with their credentials", "--debug"},
			{"what it does would be in a file and not in the command", "--cli-input-json|--cli-input-yaml\n--cli-auto-prompt"},
			{"it runs other programs", "history\nalias\ncodecommit credential-helper\nemr ssh|socks|put|get"},
		},
		env: append(everywhere(), "AWS_PAGER=", "AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=/dev/null", "AWS_SHARED_CREDENTIALS_FILE=/dev/null",
			"AWS_CLI_AUTO_PROMPT=off", "AWS_CLI_HISTORY_FILE=/dev/null", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true"),
		seconds: 60,
		check:   checkAWS,
	}
}

// awsMakers are the calls that answer with credentials, or with an address that
// holds some.
const awsMakers = `
	sts get-session-token|get-federation-token|assume-*|get-web-identity-token|get-access-key-info|decode-authorization-message|get-delegated-access-token
	s3 presign
	ecr|ecr-public get-login*|get-authorization-token
	codeartifact login|get-authorization-token
	eks get-token|update-kubeconfig
	rds generate-db-auth-token
	dsql generate-*
	redshift|redshift-serverless get-cluster-credentials*|get-credentials
	cognito-identity get-*
	cognito-idp admin-*|initiate-*
	lightsail get-instance-access-details|download-*
	cloudfront sign
	ec2 create-key-pair|import-key-pair
	configservice get-*credentials*
	glue get-connection|get-connections
	athena create-presigned-*
	deploy register|install
`

// checkAWS refuses addresses of files with variables in them: aws expands them,
// and says in its error what they held.
func checkAWS(l line, _ Program) (effect, error) {
	values := []string{}
	for _, w := range l.words {
		values = append(values, w.text)
	}
	for _, f := range l.flags {
		values = append(values, f.values...)
	}
	for _, v := range values {
		low := strings.ToLower(v)
		if (strings.Contains(low, "file://") || strings.Contains(low, "fileb://")) && strings.ContainsAny(v, "$%~") {
			return 0, tool.Errorf(tool.Refused, "aws does not run this: it expands variables in the names of files").Try("write a plain path after file://")
		}
	}
	return unlisted, nil
}
