package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// ask sends a GET to the server of a kubeconfig and returns the body of a good
// answer. Any other answer is an error with the server's words.
func ask(ctx context.Context, kubeconfig, path string) (io.ReadCloser, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(config.Host, "/")+path, nil)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	req.Header.Set("User-Agent", "kronicle/"+buildInfo().Version)
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the server: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		return nil, refusal(res)
	}
	return res.Body, nil
}

// refusal is the error that an answer other than 200 means.
func refusal(res *http.Response) error {
	const enough = 64 << 10
	body, err := io.ReadAll(io.LimitReader(res.Body, enough))
	if err != nil {
		return fmt.Errorf("the server answered %s", res.Status)
	}
	var status struct{ Message string }
	if json.Unmarshal(body, &status) == nil && status.Message != "" {
		return fmt.Errorf("the server answered %d: %s", res.StatusCode, status.Message)
	}
	return fmt.Errorf("the server answered %s: %s", res.Status, strings.TrimSpace(string(body)))
}
