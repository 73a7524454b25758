package cli

// gcloud is the command line of Google's cloud. Its commands end with what they
// do, so they are written out as far as that.
func gcloud() preset {
	return preset{
		grammar: grammar{
			values:  "--project --format --flatten --verbosity",
			plain:   "--quiet -q",
			others:  "--config",
			prelude: "alpha beta preview",
		},
		reads:   gcloudReads,
		changes: gcloudChanges,
		deletes: gcloudDeletes,
		refused: []refusal{
			{"that shows or changes how gcloud logs in", "auth\nconfig\ninit\ninfo\ncontainer clusters get-credentials\ncontainer hub|fleet\ncontainer attached|aws|azure\nsource\nredis clusters get-*"},
			{"that changes who may do what", "iam\norganizations\nresource-manager\naccess-context-manager\nbilling\npolicy-intelligence\nasset\nidentity|cloud-shell|workstations\n" +
				"* add-iam-policy-binding|set-iam-policy|remove-iam-policy-binding\n* * add-iam-policy-binding|set-iam-policy|remove-iam-policy-binding|add-iam-*|set-iam-*"},
			{"that deletes or moves whole projects and clusters", "projects delete|undelete|create|update|move\ncontainer clusters delete\nsql instances delete\nservices disable\nartifacts repositories delete\nstorage buckets delete"},
			{"that works with keys or shows secrets", "kms\nsecrets versions access|destroy|disable\nsecrets delete\nsql users\nsql generate-login-token\nsql ssl|ssl-certs\ncompute sign-url\ncompute reset-windows-password\n" +
				"storage sign-url\nstorage hmac\nsignurl\nservices api-keys"},
			{"that opens a way into a machine", "compute ssh|scp|start-iap-tunnel|connect-to-serial-port|config-ssh|os-login|tpu-vm|tpus\napp instances ssh|scp|enable-debug\nsql connect|export|import\n" +
				"run services proxy\nemulators\ncloud-shell\ninteractive"},
			{"it runs other programs, or changes gcloud itself", "components\nmeta\ntopic\nfeedback|survey\ndocker"},
			{"it uses another account, or takes flags from a file", "--flags-file\n--impersonate-service-account\n--access-token-file\n--account\n--configuration\n--credential-file-override"},
			{"it writes down requests with their credentials", "--log-http\n--verbosity=debug|info\n--trace-token|--trace-email|--trace-log\n--capture-session-file"},
			{"it empties what it names", "storage rm --recursive|-r|-R\nstorage rsync --delete-unmatched-destination-objects"},
		},
		env: append(everywhere(), "CLOUDSDK_CORE_DISABLE_PROMPTS=1", "CLOUDSDK_CORE_DISABLE_USAGE_REPORTING=true", "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK=true",
			"CLOUDSDK_CORE_DISABLE_FILE_LOGGING=true", "CLOUDSDK_CORE_DISABLE_COLOR=true", "CLOUDSDK_SURVEY_DISABLE_PROMPTS=true", "CLOUDSDK_CORE_LOG_HTTP=false"),
		seconds: 120,
		// The first is for the libraries, and gcloud itself does not look at it.
		twin: [2]string{"GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE"},
	}
}
