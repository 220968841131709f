// Package access says who is asking.
//
// It holds the certificate authority of a store, the certificates made from it
// (one for the server, one for its administrator), the kubeconfig that carries
// the latter, and the authenticator that turns the certificate of a connection
// into a User.
//
// # Types
//
//   - PKI: the authority and its certificates, kept in files.
//   - User, Authenticator: who a request comes from.
//   - ClientCertificates: the Authenticator for client certificates.
//   - Kubeconfig: the file a client needs.
//
// # Invariants
//
//	A1  A private key is never readable by others: key files and the kubeconfig
//	    are created with mode 0600, under a temporary name, and renamed when
//	    complete. (writeFile)
//	A2  An authority that has been used is never replaced silently: a certificate
//	    without its key, a key that does not fit, or an expired authority is an
//	    error. (loadAuthority)
//	A3  A User is only ever made from a chain that ends in our authority, is
//	    within its dates at the moment of the request, and is meant for client
//	    authentication. (ClientCertificates)
//	A4  A connection costs one chain verification however many requests it
//	    carries, and nothing outlives the connection. (ClientCertificates,
//	    ConnContext)
//
// # Caveats
//
// There is no revocation: a client certificate is good until it ends. Replace
// the authority (remove the files and start again) to end them all at once.
// The expiry of a certificate is looked at with every request, so a connection
// that outlives its certificate loses its user.
package access
