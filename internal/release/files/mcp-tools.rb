class McpTools < Formula
  desc "[[.About]]"
  homepage "[[.Home]]"
  version "[[.Semver]]"
  license "MIT"
[[range .Homebrew]]
  on_[[.OS]] do[[range .Archives]]
    on_[[.CPU]] do
      url "[[.URL]]"
      sha256 "[[.SHA256]]"
    end[[end]]
  end
[[end]]
  def install
    bin.install "mcp-tools"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/mcp-tools.bash" => "mcp-tools"
    zsh_completion.install "completions/_mcp-tools"
    fish_completion.install "completions/mcp-tools.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/mcp-tools version")
  end
end
