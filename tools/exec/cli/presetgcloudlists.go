package cli

// gcloudComputed are the things of gcloud compute that are treated alike.
const gcloudComputed = "instances|disks|images|snapshots|networks|firewall-rules|addresses|routers|routes|regions|zones|machine-types|instance-groups" +
	"|instance-templates|forwarding-rules|backend-services|health-checks|ssl-certificates|target-pools|url-maps|operations|vpn-tunnels"

// gcloudReads is what gcloud does without changing anything.
const gcloudReads = `
	compute ` + gcloudComputed + ` list|describe
	compute networks subnets list|describe
	compute instance-groups managed list|describe|list-instances
	compute project-info describe
	container clusters|node-pools|operations|images list|describe
	run services|revisions|jobs|regions|domain-mappings list|describe
	run jobs executions list|describe
	functions list|describe
	functions logs read
	app services|versions|instances list|describe
	app logs read
	app describe
	builds list|describe|log
	builds triggers list|describe
	artifacts repositories|packages|versions|files list|describe
	artifacts docker images list|describe
	sql instances|databases|backups|operations list|describe
	storage ls|du
	storage buckets|objects list|describe
	pubsub topics|subscriptions|schemas|snapshots list|describe
	logging read
	logging logs|sinks|metrics|buckets list|describe
	monitoring dashboards|policies|channels list|describe
	dns managed-zones|record-sets list|describe
	secrets list|describe
	secrets versions list|describe
	redis|memcache|filestore instances list|describe
	spanner instances|databases list|describe
	firestore databases|indexes list|describe
	bigtable instances|clusters|tables list|describe
	tasks queues list|describe
	scheduler jobs list|describe
	workflows list|describe
	deploy releases|rollouts|targets|delivery-pipelines list|describe
	dataflow jobs list|describe|show
	dataproc clusters|jobs list|describe
	ai models|endpoints|custom-jobs list|describe
	projects list|describe
	services list
	help
	version
`

// gcloudChanges is what gcloud makes or changes.
const gcloudChanges = `
	compute ` + gcloudComputed + ` create|update|start|add-labels|add-tags|resize|set-machine-type|add-metadata|patch|move
	compute networks subnets create|update
	compute instance-groups managed create|update|resize|rolling-action
	container clusters|node-pools create|update|resize|upgrade
	run deploy
	run services update|update-traffic|replace
	run jobs create|update|execute|deploy
	functions deploy|call
	app deploy
	builds submit
	builds triggers create|update|run
	artifacts repositories create|update
	artifacts docker tags add
	sql instances create|patch|restart|clone
	sql databases|backups create|patch
	storage cp|mv|cat|rsync
	storage buckets create|update
	storage objects update|compose
	pubsub topics|subscriptions|schemas|snapshots create|update|publish|pull|ack
	logging write
	logging sinks|metrics|buckets create|update
	dns managed-zones|record-sets create|update
	tasks queues|create-http-task create|update|pause|resume
	scheduler jobs create|update|run|pause|resume
	workflows run|deploy|execute
	deploy releases create|promote
	services enable
`

// gcloudDeletes is what gcloud takes away.
const gcloudDeletes = `
	compute ` + gcloudComputed + ` delete|stop|reset|suspend|remove-metadata|remove-tags
	compute networks subnets delete
	compute instance-groups managed delete|delete-instances|recreate-instances
	container node-pools|images delete
	run services|jobs|revisions delete
	functions delete
	app versions|services delete|stop
	builds cancel
	builds triggers delete
	artifacts packages|versions delete
	artifacts docker images|tags delete
	sql databases|backups delete
	storage rm
	storage objects delete
	pubsub topics|subscriptions|schemas|snapshots delete
	logging sinks|metrics delete
	dns record-sets delete
	scheduler jobs delete
	tasks queues delete|purge
	workflows delete
`
