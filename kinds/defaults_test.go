package kinds

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const testMeta = `"metadata":{"name":"a","namespace":"n","uid":"u-1","creationTimestamp":"2026-11-20T10:00:00Z"}`

// written is an object as it is stored after a create.
func written(t *testing.T, k *Kind, s string) map[string]any {
	t.Helper()
	obj := object(t, s)
	obj["apiVersion"], obj["kind"] = k.APIVersion, k.Kind
	if strict, err := k.Conform(obj); err != nil || strict != nil {
		t.Fatal(k.Resource, strict, err)
	}
	k.PrepareCreate(obj)
	return obj
}

// defaulted are objects that say as little as they can.
var defaulted = []struct{ api, resource, obj string }{
	{"v1", "pods", `{` + testMeta + `,"spec":{"serviceAccountName":"sa","hostNetwork":true,"volumes":[{"name":"v"},{"name":"w","configMap":{"name":"c"}},{"name":"p","projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}}],"containers":[{"name":"c","image":"nginx","ports":[{"containerPort":80}],"resources":{"limits":{"cpu":"0.5"}},"livenessProbe":{"httpGet":{"port":80}},"env":[{"name":"N","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]},{"name":"d","image":"r.io:5000/x:v1"}]},"status":{"phase":"Running"}}`},
	{"v1", "pods", `{` + testMeta + `,"spec":{"schedulingGates":[{"name":"g"}],"containers":[{"name":"c","image":"nginx@sha256:1","resources":{"limits":{"cpu":"1","memory":"1Gi"}}}]}}`},
	{"apps/v1", "deployments", `{` + testMeta + `,"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i:latest"}]}}}}`},
	{"apps/v1", "deployments", `{` + testMeta + `,"spec":{"replicas":0,"strategy":{"type":"Recreate"},"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[]}}}}`},
	{"apps/v1", "statefulsets", `{` + testMeta + `,"spec":{"serviceName":"s","selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[]}},"volumeClaimTemplates":[{"metadata":{"name":"v"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1024Mi"}}}}]}}`},
	{"apps/v1", "daemonsets", `{` + testMeta + `,"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[]}}}}`},
	{"apps/v1", "replicasets", `{` + testMeta + `,"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[]}}}}`},
	{"v1", "replicationcontrollers", `{` + testMeta + `,"spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[]}}}}`},
	{"batch/v1", "jobs", `{` + testMeta + `,"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[]}}}}`},
	{"batch/v1", "cronjobs", `{` + testMeta + `,"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[]}}}}}}`},
	{"v1", "services", `{` + testMeta + `,"spec":{"ports":[{"name":"w","port":80},{"name":"d","port":53,"protocol":"UDP","targetPort":"dns"}],"selector":{"a":"b"}}}`},
	{"v1", "services", `{` + testMeta + `,"spec":{"type":"LoadBalancer","sessionAffinity":"ClientIP","ports":[{"port":80}]}}`},
	{"v1", "secrets", `{` + testMeta + `,"stringData":{"a":"hello"},"data":{"b":"eA=="}}`},
	{"v1", "persistentvolumes", `{"metadata":{"name":"a","creationTimestamp":"2026-11-20T10:00:00Z"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/x"}}}`},
	{"v1", "persistentvolumeclaims", `{` + testMeta + `,"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`},
	{"v1", "nodes", `{"metadata":{"name":"a"},"status":{"capacity":{"cpu":"4"}}}`},
	{"v1", "limitranges", `{` + testMeta + `,"spec":{"limits":[{"type":"Container","max":{"cpu":"2"},"min":{"memory":"1Mi"}}]}}`},
	{"autoscaling/v2", "horizontalpodautoscalers", `{` + testMeta + `,"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d"},"maxReplicas":3,"behavior":{"scaleUp":{}}}}`},
	{"rbac.authorization.k8s.io/v1", "rolebindings", `{` + testMeta + `,"roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"u"},{"kind":"ServiceAccount","name":"s","namespace":"n"}]}`},
	{"admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", `{"metadata":{"name":"a"},"webhooks":[{"name":"w.x.y","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"service":{"name":"s","namespace":"n"}},"rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}]}]}`},
	{"networking.k8s.io/v1", "networkpolicies", `{` + testMeta + `,"spec":{"podSelector":{},"egress":[{"ports":[{"port":53}]}]}}`},
	{"networking.k8s.io/v1", "ingresses", `{` + testMeta + `,"spec":{"rules":[{"host":"h","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"s","port":{"number":80}}}}]}}]}}`},
	{"storage.k8s.io/v1", "storageclasses", `{"metadata":{"name":"a"},"provisioner":"p"}`},
	{"storage.k8s.io/v1", "csidrivers", `{"metadata":{"name":"a"},"spec":{}}`},
	{"scheduling.k8s.io/v1", "priorityclasses", `{"metadata":{"name":"a"},"value":7}`},
}

func TestDefaultsAndWhatTheServerSets(t *testing.T) {
	r := NewRegistry()
	got := ""
	for _, c := range defaulted {
		group, version := splitAPI(c.api)
		k := kind(t, r, group, version, c.resource)
		obj := written(t, k, c.obj)
		data, _, err := Encode(obj)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := json.Indent(&b, data, "", " "); err != nil {
			t.Fatal(err)
		}
		got += "# " + c.api + " " + c.resource + "\n# " + c.obj + "\n" + b.String() + "\n"
		again := deepCopy(obj).(map[string]any)
		if _, err := k.Conform(again); err != nil {
			t.Fatal(err)
		}
		k.PrepareUpdate(again, obj)
		if second, _, _ := Encode(again); !bytes.Equal(second, data) {
			t.Errorf("%s: an update with the same object changes it\n got %s\nwant %s", c.resource, second, data)
		}
		if c.obj != "" && !strings.Contains(c.obj, `"containers":[]`) {
			if errs := k.Validate(obj, nil); len(errs) > 0 {
				t.Errorf("%s: %v", c.resource, errs)
			}
			if errs := k.Validate(again, obj); len(errs) > 0 {
				t.Errorf("%s update: %v", c.resource, errs)
			}
		}
	}
	golden(t, "defaults.txt", got)
}

func TestValidationOfWorkloads(t *testing.T) {
	r := NewRegistry()
	const container = `{"name":"c","image":"i"}`
	const template = `"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[` + container + `]}}`
	got := ""
	for _, c := range []struct{ api, resource, obj, old string }{
		{"v1", "pods", `{` + testMeta + `,"spec":{}}`, ``},
		{"v1", "pods", `{` + testMeta + `,"spec":{"containers":[{"name":"C","image":"","imagePullPolicy":"Often","ports":[{"containerPort":0,"name":"x"},{"containerPort":1,"name":"x","protocol":"TPC"}],"volumeMounts":[{"name":"v","mountPath":"/a"}],"resources":{"requests":{"cpu":"2"},"limits":{"cpu":"1"}}},{"name":"C","image":"i"}],"restartPolicy":"Sometimes"}}`, ``},
		{"v1", "pods", `{` + testMeta + `,"spec":{"containers":[{"name":"c","image":"j"}]}}`, `{` + testMeta + `,"spec":{"containers":[` + container + `]}}`},
		{"v1", "pods", `{` + testMeta + `,"spec":{"nodeName":"n","containers":[` + container + `]}}`, `{` + testMeta + `,"spec":{"containers":[` + container + `]}}`},
		{"apps/v1", "deployments", `{` + testMeta + `,"spec":{` + template + `}}`, ``},
		{"apps/v1", "deployments", `{` + testMeta + `,"spec":{"replicas":-1,"selector":{"matchLabels":{"a":"c"}},"strategy":{"type":"X"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","containers":[` + container + `]}}}}`, ``},
		{"apps/v1", "deployments", `{` + testMeta + `,"spec":{"selector":{"matchLabels":{"a":"b","c":"d"}},"template":{"metadata":{"labels":{"a":"b","c":"d"}},"spec":{"containers":[` + container + `]}}}}`, `{` + testMeta + `,"spec":{` + template + `}}`},
		{"apps/v1", "statefulsets", `{` + testMeta + `,"spec":{"serviceName":"t",` + template + `}}`, `{` + testMeta + `,"spec":{"serviceName":"s",` + template + `}}`},
		{"batch/v1", "jobs", `{` + testMeta + `,"spec":{"template":{"spec":{"containers":[` + container + `]}}}}`, ``},
		{"batch/v1", "cronjobs", `{` + testMeta + `,"spec":{"schedule":"soon","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[` + container + `]}}}}}}`, ``},
		{"v1", "services", `{` + testMeta + `,"spec":{"type":"Best","ports":[{"port":80},{"port":70000,"name":"Ä"}]}}`, ``},
		{"v1", "services", `{` + testMeta + `,"spec":{}}`, ``},
		{"v1", "secrets", `{` + testMeta + `,"type":"kubernetes.io/tls","data":{"tls.crt":""}}`, ``},
		{"v1", "secrets", `{` + testMeta + `,"type":"a"}`, `{` + testMeta + `,"type":"b","immutable":true,"data":{"a":"eA=="}}`},
		{"v1", "persistentvolumeclaims", `{` + testMeta + `,"spec":{"accessModes":["Some"]}}`, ``},
		{"rbac.authorization.k8s.io/v1", "rolebindings", `{` + testMeta + `,"roleRef":{"kind":"Role","name":"s"}}`, `{` + testMeta + `,"roleRef":{"kind":"Role","name":"r"}}`},
		{"networking.k8s.io/v1", "ingresses", `{` + testMeta + `,"spec":{"rules":[{"http":{"paths":[{"backend":{}}]}}]}}`, ``},
		{"storage.k8s.io/v1", "storageclasses", `{"metadata":{"name":"a"},"provisioner":"q","volumeBindingMode":"Later"}`, `{"metadata":{"name":"a"},"provisioner":"p"}`},
		{"autoscaling/v2", "horizontalpodautoscalers", `{` + testMeta + `,"spec":{"scaleTargetRef":{"name":"d"},"maxReplicas":0}}`, ``},
		{"autoscaling/v2", "horizontalpodautoscalers", `{` + testMeta + `,"spec":{"scaleTargetRef":{"kind":"D","name":"d"},"minReplicas":3,"maxReplicas":2}}`, ``},
		{"policy/v1", "poddisruptionbudgets", `{` + testMeta + `,"spec":{"minAvailable":1,"maxUnavailable":"50%"}}`, ``},
		{"apps/v1", "deployments", `{` + testMeta + `,"spec":{"strategy":{"type":"Recreate","rollingUpdate":{}},` + template + `}}`, ``},
		{"apps/v1", "deployments", `{` + testMeta + `,"spec":{"strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":"0%"}},` + template + `}}`, ``},
		{"rbac.authorization.k8s.io/v1", "roles", `{` + testMeta + `,"rules":[{"verbs":["get"],"nonResourceURLs":["/x"]},{"verbs":["get"]}]}`, ``},
		{"rbac.authorization.k8s.io/v1", "rolebindings", `{` + testMeta + `,"roleRef":{"kind":"Role","name":"s"},"subjects":[{"kind":"ServiceAccount","name":"a"},{"kind":"User","name":"u","apiGroup":"x"}]}`, ``},
		{"networking.k8s.io/v1", "ingresses", `{` + testMeta + `,"spec":{}}`, ``},
		{"networking.k8s.io/v1", "ingresses", `{` + testMeta + `,"spec":{"rules":[{"host":"*.a.b","http":{"paths":[{"pathType":"Exact","path":"x","backend":{"service":{"name":"s"}}}]}},{"host":"A"}]}}`, ``},
		{"networking.k8s.io/v1", "networkpolicies", `{` + testMeta + `,"spec":{"podSelector":{},"ingress":[{"from":[{},{"ipBlock":{"cidr":"10.0.0.0"}}]}]}}`, ``},
		{"scheduling.k8s.io/v1", "priorityclasses", `{"metadata":{"name":"a"},"value":2000000000}`, ``},
		{"scheduling.k8s.io/v1", "priorityclasses", `{"metadata":{"name":"system-mine"},"value":1}`, ``},
		{"admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", `{"metadata":{"name":"a"},"webhooks":[{"name":"w","sideEffects":"Some","admissionReviewVersions":["v1"],"clientConfig":{}}]}`, ``},
		{"v1", "limitranges", `{` + testMeta + `,"spec":{"limits":[{"type":"Pod","max":{"cpu":"1"},"min":{"cpu":"2"}}]}}`, ``},
		{"v1", "services", `{` + testMeta + `,"spec":{"clusterIP":"x","externalIPs":["y"],"ports":[{"port":1}]}}`, ``},
		{"discovery.k8s.io/v1", "endpointslices", `{` + testMeta + `,"addressType":"IPv4","endpoints":[{"addresses":["x"]}]}`, ``},
		{"v1", "pods", `{` + testMeta + `,"spec":{"containers":[{"name":"c","image":"i","livenessProbe":{}}]}}`, ``},
	} {
		group, version := splitAPI(c.api)
		k := kind(t, r, group, version, c.resource)
		obj := written(t, k, c.obj)
		var old map[string]any
		if c.old != "" {
			old = written(t, k, c.old)
		}
		got += fmt.Sprintf("# %s %s\n# %s\n", c.api, c.resource, c.obj)
		if c.old != "" {
			got += "# was " + c.old + "\n"
		}
		for _, err := range k.Validate(obj, old) {
			got += err.Error() + "\n"
		}
		got += "\n"
	}
	golden(t, "validation.txt", got)
}

func TestEveryKindSaysWhatItDoesNotCheck(t *testing.T) {
	checked := map[string]bool{"configmaps": true, "namespaces": true, "leases": true, DefinitionResource: true, "controllerrevisions": true, "ingressclasses": true}
	NewRegistry().Current().Kinds(func(k *Kind) bool {
		if (len(Unchecked(k.Group, k.Resource)) == 0) != checked[k.Resource] {
			t.Errorf("%s: %v", k.Resource, Unchecked(k.Group, k.Resource))
		}
		return true
	})
}

// BenchmarkPodCreate is what a create of a pod costs here.
func BenchmarkPodCreate(b *testing.B) {
	k := kind(b, NewRegistry(), "", "v1", "pods")
	body := []byte(defaulted[0].obj)
	obj, _, err := DecodeJSON(body)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := k.Conform(obj); err != nil {
			b.Fatal(err)
		}
		k.PrepareCreate(obj)
		if errs := k.Validate(obj, nil); errs != nil {
			b.Fatal(errs)
		}
	}
}

// BenchmarkProtobuf is the way of a pod to protobuf.
func BenchmarkProtobuf(b *testing.B) {
	k := kind(b, NewRegistry(), "", "v1", "pods")
	obj, _, _ := DecodeJSON([]byte(defaulted[0].obj))
	k.PrepareCreate(obj)
	data, _, _ := Encode(obj)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := k.ProtobufMessage(data); err != nil {
			b.Fatal(err)
		}
	}
}
