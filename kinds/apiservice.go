package kinds

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// APIService is apiregistration.k8s.io/v1's kind as JSON has it. Its module,
// the aggregator, is not one this program depends on, so there is no protobuf
// form of it.
type APIService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty,omitzero"`
	Spec              APIServiceSpec   `json:"spec,omitempty,omitzero"`
	Status            APIServiceStatus `json:"status,omitempty,omitzero"`
}

// APIServiceSpec says where a group version is served.
type APIServiceSpec struct {
	Service               *APIServiceReference `json:"service,omitempty"`
	Group                 string               `json:"group,omitempty"`
	Version               string               `json:"version,omitempty"`
	InsecureSkipTLSVerify bool                 `json:"insecureSkipTLSVerify,omitempty"`
	CABundle              []byte               `json:"caBundle,omitempty"`
	GroupPriorityMinimum  int32                `json:"groupPriorityMinimum"`
	VersionPriority       int32                `json:"versionPriority"`
}

// APIServiceReference names a service; the port is 443 unless given.
type APIServiceReference struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Port      *int32 `json:"port,omitempty"`
}

// APIServiceStatus is what became of it.
type APIServiceStatus struct {
	Conditions []APIServiceCondition `json:"conditions,omitempty"`
}

// APIServiceCondition is one state of an APIService.
type APIServiceCondition struct {
	Type               string      `json:"type"`
	Status             string      `json:"status"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
	Reason             string      `json:"reason,omitempty"`
	Message            string      `json:"message,omitempty"`
}
