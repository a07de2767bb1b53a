/** The sample paper: a short paper with open citations to try. */

import * as vscode from "vscode";

const FILES = ["sample.tex", "sample.bib"];
const START = "\\citep<attention is all you need";

/** Opens the author's copy of the sample, with the cursor in its first placeholder. */
export async function openSample(context: vscode.ExtensionContext): Promise<void> {
  const folder = vscode.Uri.joinPath(context.globalStorageUri, "sample");
  await vscode.workspace.fs.createDirectory(folder);
  for (const name of FILES) {
    const source = vscode.Uri.joinPath(context.extensionUri, "media", "sample", name);
    const target = vscode.Uri.joinPath(folder, name);
    try {
      await vscode.workspace.fs.copy(source, target, { overwrite: false });
    } catch (error) {
      // Keep the author's earlier copy.
      if (!(error instanceof vscode.FileSystemError) || error.code !== "FileExists") throw error;
    }
  }
  const document = await vscode.workspace.openTextDocument(vscode.Uri.joinPath(folder, "sample.tex"));
  const editor = await vscode.window.showTextDocument(document, { preview: false });
  const at = document.getText().indexOf(START);
  const position = document.positionAt(at < 0 ? 0 : at + START.length);
  editor.selection = new vscode.Selection(position, position);
  editor.revealRange(
    new vscode.Range(position, position),
    vscode.TextEditorRevealType.InCenterIfOutsideViewport,
  );
}
