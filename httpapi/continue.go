package httpapi

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"path"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kronicle/kronicle/projections"
)

// latest in a token continues a list on the newest state (apiserver/pkg/storage/
// etcd3/errors.go handleCompactedErrorForPaging).
const latest = -1

// A token is where a chunked list goes on. Its form is that of Kubernetes
// (apiserver/pkg/storage/continue.go); clients treat it as opaque.
type token struct {
	Format  string `json:"v"`
	Version int64  `json:"rv"`    // of the whole list, or latest
	Start   string `json:"start"` // the last object's position and a zero byte
}

const tokenFormat = "meta.k8s.io/v1"

func encodeToken(version int64, position string) string {
	b, err := json.Marshal(token{tokenFormat, version, position + "\x00"})
	if err != nil { // two strings and a number
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// decodeToken gives the version and the position behind which the list goes on.
func decodeToken(s string) (version int64, after string, err error) {
	refuse := func(why string) (int64, string, error) {
		return 0, "", badRequest("invalid continue token: continue key is not valid%s", why)
	}
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return refuse(": " + err.Error())
	}
	var t token
	if err := json.Unmarshal(b, &t); err != nil {
		return refuse(": " + err.Error())
	}
	switch {
	case t.Format != tokenFormat:
		return refuse(": server does not recognize this encoded version " + t.Format)
	case t.Version == 0 || t.Version < latest:
		return refuse(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
	case t.Start == "":
		return refuse(": encoded start key empty (version meta.k8s.io/v1)")
	}
	key := t.Start
	if !strings.HasPrefix(key, "/") { // the position of a cluster-scoped object has the slash
		key = "/" + key
	}
	if path.Clean(key) != key {
		return refuse(": " + t.Start)
	}
	return t.Version, strings.TrimSuffix(t.Start, "\x00"), nil
}

// expiredToken is the 410 of a continue token whose version is gone. It carries a
// token that continues on the newest state.
func expiredToken(err error, after string) error {
	var expired *projections.ExpiredError
	if !errors.As(err, &expired) {
		return err
	}
	gone := apierrors.NewResourceExpired("The provided continue parameter is too old " +
		"to display a consistent list result. You can start a new list without " +
		"the continue parameter, or use the continue token in this response to " +
		"retrieve the remainder of the results. Continuing with the provided " +
		"token results in an inconsistent list - objects that were created, " +
		"modified, or deleted between the time the first chunk was returned " +
		"and now may show up in the list.")
	gone.ErrStatus.Continue = encodeToken(latest, after)
	return gone
}
