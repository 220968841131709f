package kinds

import (
	"fmt"
	"testing"
	"time"
)

func TestCellsOfCommonKinds(t *testing.T) {
	r := NewRegistry()
	now := testTime.Add(5 * time.Minute)
	const meta = `"metadata":{"name":"a","namespace":"n","creationTimestamp":"2026-11-20T10:00:00Z"}`
	const template = `"template":{"spec":{"nodeSelector":{"d":"e"},"containers":[{"name":"c","image":"i:1"},{"name":"d","image":"i:2"}]}}`
	for _, c := range []struct{ api, resource, obj, cells string }{
		{"v1", "pods", `{` + meta + `,"spec":{"containers":[{},{}]},"status":{"phase":"Pending"}}`, `a|0/2|Pending|0|5m|<none>|<none>|<none>|<none>`},
		{"v1", "pods", `{` + meta + `,"spec":{"nodeName":"n1","containers":[{},{}],"readinessGates":[{"conditionType":"x"}]},"status":{"phase":"Running","podIPs":[{"ip":"10.0.0.1"}],"conditions":[{"type":"x","status":"True"}],"containerStatuses":[{"ready":true,"state":{"running":{}},"restartCount":3,"lastState":{"terminated":{"finishedAt":"2026-11-20T10:01:00Z"}}},{"state":{"waiting":{"reason":"CrashLoopBackOff"}},"restartCount":1}]}}`,
			`a|1/2|CrashLoopBackOff|4 (4m ago)|5m|10.0.0.1|n1|<none>|1/1`},
		{"v1", "pods", `{` + meta + `,"spec":{"initContainers":[{},{}],"containers":[{}]},"status":{"phase":"Pending","initContainerStatuses":[{"state":{"terminated":{"exitCode":0}}},{"state":{"running":{}}}]}}`, `a|0/1|Init:1/2|0|5m|<none>|<none>|<none>|<none>`},
		{"v1", "pods", `{"metadata":{"name":"a","deletionTimestamp":"2026-11-20T10:00:00Z"},"spec":{"containers":[{}]},"status":{"phase":"Running"}}`, `a|0/1|Terminating|0|<unknown>|<none>|<none>|<none>|<none>`},
		{"apps/v1", "deployments", `{` + meta + `,"spec":{"replicas":3,"selector":{"matchLabels":{"b":"c","a":"b"}},` + template + `},"status":{"readyReplicas":1,"updatedReplicas":2,"availableReplicas":1}}`, `a|1/3|2|1|5m|c,d|i:1,i:2|a=b,b=c`},
		{"apps/v1", "replicasets", `{` + meta + `,"spec":{"replicas":3,"selector":{"matchExpressions":[{"key":"k","operator":"In","values":["y","x"]},{"key":"z","operator":"DoesNotExist"}]},` + template + `},"status":{"replicas":2}}`, `a|3|2|0|5m|c,d|i:1,i:2|k in (x,y),!z`},
		{"v1", "replicationcontrollers", `{"kind":"ReplicationController",` + meta + `,"spec":{"replicas":3,"selector":{"x":"y"},` + template + `}}`, `a|3|0|0|5m|c,d|i:1,i:2|x=y`},
		{"apps/v1", "statefulsets", `{` + meta + `,"spec":{"replicas":1,` + template + `}}`, `a|0/1|5m|c,d|i:1,i:2`},
		{"apps/v1", "daemonsets", `{` + meta + `,"spec":{` + template + `},"status":{"desiredNumberScheduled":3}}`, `a|3|0|0|0|0|d=e|5m|c,d|i:1,i:2|<none>`},
		{"batch/v1", "jobs", `{` + meta + `,"spec":{"completions":2,` + template + `},"status":{"succeeded":2,"startTime":"2026-11-20T10:00:00Z","completionTime":"2026-11-20T10:00:09Z","conditions":[{"type":"Complete","status":"True"}]}}`, `a|Complete|2/2|9s|5m|c,d|i:1,i:2|<none>`},
		{"batch/v1", "cronjobs", `{` + meta + `,"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{` + template + `}}},"status":{"active":[{}],"lastScheduleTime":"2026-11-20T10:04:00Z"}}`, `a|* * * * *|<none>|False|1|60s|5m|c,d|i:1,i:2|<none>`},
		{"v1", "services", `{` + meta + `,"spec":{"type":"NodePort","clusterIP":"10.0.0.1","ports":[{"port":80,"protocol":"TCP"},{"port":443,"nodePort":30443,"protocol":"TCP"}],"selector":{"a":"b"}}}`, `a|NodePort|10.0.0.1|<none>|80/TCP,443:30443/TCP|5m|a=b`},
		{"v1", "services", `{` + meta + `,"spec":{"type":"LoadBalancer"},"status":{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}}}`, `a|LoadBalancer|<none>|1.2.3.4|<none>|5m|<none>`},
		{"v1", "endpoints", `{` + meta + `,"subsets":[{"addresses":[{"ip":"1"},{"ip":"2"}],"ports":[{"port":1},{"port":2}]}]}`, `a|1:1,1:2,2:1 + 1 more...|5m`},
		{"v1", "nodes", `{"metadata":{"name":"a","labels":{"node-role.kubernetes.io/control-plane":"","kubernetes.io/role":"x"}},"spec":{"unschedulable":true},"status":{"conditions":[{"type":"Ready","status":"True"}],"addresses":[{"type":"InternalIP","address":"1.1.1.1"}],"nodeInfo":{"kubeletVersion":"v1"}}}`,
			`a|Ready,SchedulingDisabled|control-plane,x|<unknown>|v1|1.1.1.1|<none>|<unknown>|<unknown>|<unknown>`},
		{"v1", "events", `{` + meta + `,"involvedObject":{"kind":"Pod","name":"p"},"type":"Normal","reason":"R","message":" m ","source":{"component":"c","host":"h"},"firstTimestamp":"2026-11-20T10:00:00Z","lastTimestamp":"2026-11-20T10:04:00Z","count":4}`, `60s|Normal|R|pod/p||c, h|m|5m|4|a`},
		{"v1", "secrets", `{` + meta + `,"type":"Opaque","data":{"a":"","b":""}}`, `a|Opaque|2|5m`},
		{"v1", "serviceaccounts", `{` + meta + `}`, `a|0|5m`},
		{"v1", "persistentvolumeclaims", `{` + meta + `,"spec":{"volumeName":"v","storageClassName":"s","volumeMode":"Filesystem"},"status":{"phase":"Bound","accessModes":["ReadWriteMany","ReadWriteOnce"],"capacity":{"storage":"1Gi"}}}`, `a|Bound|v|1Gi|RWO,RWX|s|<unset>|5m|Filesystem`},
		{"v1", "persistentvolumes", `{` + meta + `,"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"claimRef":{"namespace":"n","name":"c"},"persistentVolumeReclaimPolicy":"Retain"},"status":{"phase":"Bound"}}`, `a|1Gi|RWO|Retain|Bound|n/c||<unset>||5m|<unset>`},
		{"networking.k8s.io/v1", "ingresses", `{` + meta + `,"spec":{"ingressClassName":"nginx","rules":[{"host":"h"}],"tls":[{}]}}`, `a|nginx|h||80, 443|5m`},
		{"autoscaling/v2", "horizontalpodautoscalers", `{` + meta + `,"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},"maxReplicas":5,"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"averageUtilization":80}}}]}}`, `a|Deployment/d|cpu: <unknown>/80%|<unset>|5|0|5m`},
		{"rbac.authorization.k8s.io/v1", "rolebindings", `{` + meta + `,"roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"u"},{"kind":"ServiceAccount","name":"s","namespace":"n"}]}`, `a|Role/r|5m|u||n/s`},
		{"rbac.authorization.k8s.io/v1", "roles", `{` + meta + `}`, `a|2026-11-20T10:00:00Z`},
		{"storage.k8s.io/v1", "storageclasses", `{` + meta + `,"provisioner":"p"}`, `a|p|Delete|Immediate|false|5m`},
	} {
		group, version := splitAPI(c.api)
		k := kind(t, r, group, version, c.resource)
		cells, err := k.Cells([]byte(c.obj), now)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for i, cell := range cells {
			if i > 0 {
				got += "|"
			}
			got += fmt.Sprint(cell)
		}
		same(t, c.api+" "+c.resource, got, c.cells)
	}
}

func TestEveryKindHasACellForEveryColumn(t *testing.T) {
	NewRegistry().Current().Kinds(func(k *Kind) bool {
		cells, err := k.Cells([]byte(`{"metadata":{"name":"a","creationTimestamp":"2026-11-20T10:00:00Z"}}`), testTime)
		if err != nil || len(cells) != len(k.Columns) {
			t.Errorf("%s: %d cells for %d columns (%v)", k.Resource, len(cells), len(k.Columns), err)
		}
		return true
	})
}

func TestScale(t *testing.T) {
	r := NewRegistry()
	k := kind(t, r, "apps", "v1", "deployments")
	obj := object(t, `{"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7","labels":{"x":"y"}},"spec":{"replicas":3,"selector":{"matchLabels":{"a":"b"}}},"status":{"replicas":2}}`)
	scale, err := k.ScaleOf(obj)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "scale", string(fragment(scale)), `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a","namespace":"n","resourceVersion":"7","uid":"u"},"spec":{"replicas":3},"status":{"replicas":2,"selector":"a=b"}}`)
	if err := k.SetScale(obj, 5); err != nil || intAt(obj, "spec", "replicas") != 5 {
		t.Error(err)
	}
	if _, err := kind(t, r, "", "v1", "pods").ScaleOf(obj); err != ErrNoScale {
		t.Error(err)
	}
}

func TestSelectableFieldsHaveTheZeroOfTheirType(t *testing.T) {
	r := NewRegistry()
	for _, c := range []struct{ group, resource, obj, label, want string }{
		{"", "pods", `{"spec":{"nodeName":"n"}}`, "spec.nodeName", "n"},
		{"", "pods", `{"spec":{}}`, "spec.hostNetwork", "false"},
		{"", "pods", `{"spec":{"hostNetwork":true}}`, "spec.hostNetwork", "true"},
		{"", "nodes", `{}`, "spec.unschedulable", "false"},
		{"apps", "replicasets", `{}`, "status.replicas", "0"},
		{"batch", "jobs", `{"status":{"succeeded":4}}`, "status.successful", "4"},
		{"", "events", `{"source":{"component":"a"},"reportingComponent":"b"}`, "source", "a"},
		{"", "events", `{"source":{},"reportingComponent":"b"}`, "source", "b"},
		{"events.k8s.io", "events", `{"involvedObject":{"name":"x"}}`, "regarding.name", "x"},
	} {
		got, ok := kind(t, r, c.group, "v1", c.resource).Field(object(t, c.obj), c.label)
		if !ok || got != c.want {
			t.Errorf("%s %s: %q %v", c.resource, c.label, got, ok)
		}
	}
}

// BenchmarkNewRegistry is what the catalogue costs at start.
func BenchmarkNewRegistry(b *testing.B) {
	for b.Loop() {
		NewRegistry().Current()
	}
}
