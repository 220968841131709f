package access

import "net/http"

// Groups with a meaning of their own.
const (
	// GroupMasters is the group whose members may do everything.
	GroupMasters = "system:masters"
	// GroupAuthenticated is added to every user that was authenticated.
	GroupAuthenticated = "system:authenticated"
)

// AdminName is the name of the user that the server's own kubeconfig carries.
const AdminName = "kronicle-admin"

// User is who a request comes from. It is immutable and may be shared.
type User struct {
	Name   string
	UID    string
	Groups []string
}

// InGroup reports whether the user is a member of group.
func (u *User) InGroup(group string) bool {
	for _, g := range u.Groups {
		if g == group {
			return true
		}
	}
	return false
}

// Authenticator tells who a request comes from. False means that the request
// carries nothing that this authenticator believes; it never means an error of
// the server.
type Authenticator interface {
	Authenticate(*http.Request) (*User, bool)
}
